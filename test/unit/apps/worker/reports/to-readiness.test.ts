import { expect, it } from 'vitest'
import { toReadiness } from '#apps/worker/reports/to-readiness.ts'

const engine = (model: string, ready: boolean) => ({ model, ready })
const problem = (model: string, reason: string) => ({ model, reason })

it.for([
  [[engine('a', true), engine('b', true), engine('a', true)], [], null],
  [[], [], 'no engine yet for a; b'],
  [[engine('a', true), engine('b', true)], [], 'no engine yet for a'],
  [[engine('a', true), engine('b', false), engine('a', true)], [], 'no engine yet for b'],
  [[engine('a', true), engine('a', true)], [problem('b', 'lost')], 'no engine yet for b, lost'],
  [
    [],
    [problem('a', 'lost'), problem('b', 'torn'), problem('a', 'torn'), problem('a', 'lost')],
    'no engine yet for a, lost, torn; b, torn',
  ],
] as const)('%j with %j: %s', ([engines, problems, reason]) => {
  const readiness = toReadiness(['a', 'b', 'a'], engines, { problems, draining: false })
  expect(readiness).toEqual(reason === null ? { ready: true } : { ready: false, reason })
})

it('a worker that drains is not ready, however healthy its engines', () => {
  expect(toReadiness(['a'], [engine('a', true)], { problems: [], draining: true })).toEqual({
    ready: false,
    reason: 'draining',
  })
})
