import { expect, test } from 'vitest'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import {
  appendEntry,
  decodeGatewayMessage,
  encodePulse,
  startFrame,
  type FrameEntry,
} from '#libs/event-bus/frame.ts'
import { FrameError } from '#libs/event-bus/frame-values.ts'

const EVENTS: readonly GenerationEvent[] = [
  { type: 'generation-claimed', worker: 'worker-1', promptTokens: 12 },
  { type: 'reasoning-delta', text: 'Hm.\n' },
  { type: 'text-delta', text: 'Grüße 🌾 "quoted"' },
  { type: 'tool-call-start', index: 0, id: 'call_1', name: 'get_weather' },
  { type: 'tool-call-delta', index: 0, text: '{"city":' },
  { type: 'generation-declined', reason: 'hold-too-small', promptTokens: 99 },
  {
    type: 'generation-end',
    finishReason: 'tool-calls',
    usage: { promptTokens: 12, cachedTokens: 8, completionTokens: 5, reasoningTokens: 2 },
  },
  { type: 'vectors-ready', first: 128, count: 64 },
  { type: 'generation-error', code: 'upstream_error', message: 'It failed.' },
]

function entriesOf(events: readonly GenerationEvent[]): FrameEntry[] {
  return events.map((event, at) => ({ stream: 3, epoch: 1, seq: at + 1, event, ids: [at, 2_000] }))
}

test('every event arrives as it was sent', () => {
  const entries = entriesOf(EVENTS)
  const parts = startFrame('worker-1')
  for (const entry of entries) appendEntry(parts, entry)
  expect(decodeGatewayMessage(JSON.stringify(parts))).toEqual({ kind: 'frame', worker: 'worker-1', entries })
})

test('a token of plain text costs at most thirty bytes beside its text', () => {
  const parts = startFrame('worker-1')
  const empty = JSON.stringify(parts).length
  appendEntry(parts, {
    stream: 100_000,
    epoch: 1,
    seq: 1_000,
    event: { type: 'text-delta', text: ' word' },
    ids: [31_000],
  })
  expect(JSON.stringify(parts).length - empty - ' word'.length).toBeLessThanOrEqual(30)
})

test('a pulse arrives as it was sent', () => {
  const streams = [
    { stream: 1, epoch: 1, lastSeq: 9, running: true },
    { stream: 2, epoch: 3, lastSeq: 0, running: false },
  ]
  expect(decodeGatewayMessage(encodePulse({ worker: 'worker-1', streams }))).toEqual({
    kind: 'pulse',
    worker: 'worker-1',
    streams,
  })
})

test.each([
  'no JSON',
  '{}',
  '[]',
  '[7,"worker-1"]',
  '[0,"worker-1",1,1,1,99,"x",[]]',
  '[0,"worker-1",1,1,1,3,5,[]]',
  '[0,"worker-1",1,1,1,3,"x"]',
  '[0,"worker-1","1",1,1,3,"x",[]]',
  '[0,"worker-1",1,1,1,6,["weird",1,1,1,1],[]]',
  '[0,"worker-1",1,1,1,4,null,[]]',
])('rejects any other text: %s', (text) => {
  expect(() => decodeGatewayMessage(text)).toThrow(FrameError)
})
