import { expect, test } from 'vitest'
import { decodeTiming, encodeTiming, type SettlementTiming } from '#libs/contracts/settlement-timing.ts'

const WHOLE: SettlementTiming = {
  waitedMs: 14_200,
  ahead: 0,
  firstTokenMs: 410,
  ranMs: 5_900,
  finishReason: 'tool_calls',
  errorCode: 'upstream_error',
  reasoningTokens: 3,
  streamed: false,
}
const NOTHING: SettlementTiming = {
  waitedMs: null,
  ahead: null,
  firstTokenMs: null,
  ranMs: null,
  finishReason: null,
  errorCode: null,
  reasoningTokens: null,
  streamed: null,
}

test('a timing is read as it was written, and zero is not unknown', () => {
  expect(decodeTiming(encodeTiming(WHOLE))).toEqual(WHOLE)
  expect(decodeTiming(encodeTiming({ ...WHOLE, ranMs: 0.4 }))).toEqual({ ...WHOLE, ranMs: 0 })
  expect(decodeTiming(encodeTiming(NOTHING))).toEqual(NOTHING)
  expect(encodeTiming(WHOLE)).toBe('14200,0,410,5900,tool_calls,upstream_error,3,0')
})

test('values of a later version are ignored, and what is missing or unreadable is unknown', () => {
  expect(decodeTiming(`${encodeTiming(WHOLE)},new`)).toEqual(WHOLE)
  expect(decodeTiming('7')).toEqual({ ...NOTHING, waitedMs: 7 })
  for (const text of ['', '-1,x,1e3, 5,Stop!,<b>,0x1,2']) expect(decodeTiming(text)).toEqual(NOTHING)
  expect(decodeTiming('9999999999').waitedMs).toBe(2_147_483_647)
})
