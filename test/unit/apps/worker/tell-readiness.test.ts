import { expect, it } from 'vitest'
import { tellReadiness } from '#apps/worker/tell-readiness.ts'

const engine = (model: string, ready: boolean) => ({ model, ready })

it.for([
  [[engine('a', true), engine('b', true), engine('a', true)], {}, null],
  [[], {}, 'no engine yet for a; b'],
  [[engine('a', true), engine('b', true)], {}, 'no engine yet for a'],
  [[engine('a', true), engine('b', false), engine('a', true)], {}, 'no engine yet for b'],
  [[engine('a', true), engine('a', true)], { b: 'it has no files' }, 'no engine yet for b, it has no files'],
] as const)('%j with %j: %s', ([engines, problems, reason]) => {
  const told = tellReadiness(['a', 'b', 'a'], engines, new Map(Object.entries(problems)))
  expect(told).toEqual(reason === null ? { ready: true } : { ready: false, reason })
})
