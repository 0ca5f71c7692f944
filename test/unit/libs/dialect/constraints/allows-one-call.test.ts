import { expect, it } from 'vitest'
import { allowsOneCall } from '#libs/dialect/constraints/allows-one-call.ts'

it.each([
  ['auto', true, false],
  ['auto', false, true],
  ['required', true, false],
  ['required', false, true],
  [{ name: 'f' }, true, true],
] as const)('tool choice %j with parallel calls %s', (toolChoice, parallelToolCalls, single) => {
  expect(allowsOneCall({ toolChoice, parallelToolCalls })).toBe(single)
})
