import { expect, it } from 'vitest'
import { toEffort } from '#apps/gateway/endpoints/messages/thinking.ts'

const enabled = (budget_tokens?: number) => ({ type: 'enabled' as const, budget_tokens })

it.each([
  ['nothing', undefined, undefined, undefined],
  ['disabled thinking', { type: 'disabled' as const, budget_tokens: undefined }, 'max', 'off'],
  ['a small budget', enabled(4_095), undefined, 'low'],
  ['a large budget', enabled(4_096), undefined, 'high'],
  ['thinking without a budget', enabled(), undefined, 'low'],
  [
    'adaptive thinking and an effort',
    { type: 'adaptive' as const, budget_tokens: undefined },
    'medium',
    'low',
  ],
  ['an effort and a budget', enabled(1_024), 'xhigh', 'max'],
  ['the effort low', undefined, 'low', 'low'],
  ['the effort high', undefined, 'high', 'high'],
  ['the effort max', undefined, 'max', 'max'],
] as const)('%s is read', (...[, thinking, effort, expected]) => {
  expect(toEffort(thinking, effort)).toBe(expected)
})
