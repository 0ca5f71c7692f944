import { expect, it } from 'vitest'
import { toCallId } from '#apps/worker/text/tool-calls/call-id.ts'

const call = { generationId: 'g', name: 'f', index: 1, earlierCalls: 2 }

it.for([
  ['opaque', /^call_[0-9a-f]{24}$/],
  ['nine-characters', /^[A-Za-z0-9]{9}$/],
  ['name-and-number', /^functions\.f:3$/],
] as const)('%s: an id that the template takes back, the same in every run', ([kind, shape]) => {
  expect(toCallId(kind, call)).toMatch(shape)
  expect(toCallId(kind, call)).toBe(toCallId(kind, { ...call }))
  expect(toCallId(kind, call)).not.toBe(toCallId(kind, { ...call, index: 0 }))
})
