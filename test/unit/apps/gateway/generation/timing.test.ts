import { expect, test } from 'vitest'
import { createTiming } from '#apps/gateway/generation/timing.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationEnd } from '#libs/contracts/generation-event.ts'

const END: GenerationEnd = {
  type: 'generation-end',
  finishReason: 'tool-calls',
  usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 9, reasoningTokens: 4 },
}

function setUp() {
  const clock = { nowMs: 1_000 }
  return { clock, timing: createTiming({ streamed: true, nowMs: () => clock.nowMs }) }
}

test('wait, first token and run follow each other, although the claim came with the first token', () => {
  const { clock, timing } = setUp()
  timing.queued(124)
  clock.nowMs += 14_610
  timing.claimed({ waitedMs: 14_200 })
  timing.output()
  clock.nowMs += 5_900
  timing.output()
  expect(timing.end(END)).toEqual({
    waitedMs: 14_200,
    ahead: 124,
    firstTokenMs: 410,
    ranMs: 5_900,
    finishReason: 'tool_calls',
    errorCode: null,
    reasoningTokens: 4,
    streamed: true,
  })
})

test('the first claim counts, and one of an older worker says nothing about the wait', () => {
  const { clock, timing } = setUp()
  timing.queued(null)
  timing.claimed({})
  timing.claimed({ waitedMs: 7 })
  clock.nowMs += 50
  timing.output()
  expect(timing.end(END)).toMatchObject({ waitedMs: null, ahead: null, firstTokenMs: null, ranMs: 0 })
})

test('what no worker claimed has waited until its end, and has not run', () => {
  const { clock, timing } = setUp()
  timing.queued(3)
  clock.nowMs += 700
  expect(timing.end(null)).toMatchObject({
    waitedMs: 700,
    firstTokenMs: null,
    ranMs: null,
    finishReason: null,
  })
})

test('a failure leaves its code, that of a bug is upstream_error', () => {
  const { timing } = setUp()
  timing.failed(new ApiError('model_unavailable', 'gone'))
  expect(timing.end(null).errorCode).toBe('model_unavailable')
  timing.failed(new Error('bug'))
  expect(timing.end(null).errorCode).toBe('upstream_error')
})
