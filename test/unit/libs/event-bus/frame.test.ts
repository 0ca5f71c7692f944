import { expect, test } from 'vitest'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import {
  appendEntry,
  decodeGatewayMessage,
  encodePulse,
  startFrame,
  type FrameEntry,
  type Pulse,
} from '#libs/event-bus/frame.ts'
import { FrameError } from '#libs/event-bus/frame-values.ts'

const EVENTS: readonly GenerationEvent[] = [
  { type: 'generation-claimed', worker: 'worker-1', promptTokens: 12, after: 7, guided: true },
  { type: 'prompt-cached', cachedTokens: 8 },
  { type: 'generation-short', amountNano: '9223372036854775807', moreTokens: 256 },
  { type: 'reasoning-delta', text: 'Hm.\n' },
  { type: 'text-delta', text: 'Grüße 🌾 "quoted"' },
  { type: 'tool-call-start', index: 0, id: 'call_1', name: 'get_weather' },
  { type: 'tool-call-delta', index: 0, text: '{"city":' },
  {
    type: 'generation-declined',
    reason: 'misfit',
    promptTokens: 99,
    requirement: 'window:65536',
    blame: 'suspect',
  },
  {
    type: 'generation-end',
    finishReason: 'tool-calls',
    usage: { promptTokens: 12, cachedTokens: 8, completionTokens: 5, reasoningTokens: 2 },
  },
  {
    type: 'generation-end',
    finishReason: 'stop',
    stopString: 'END',
    usage: { promptTokens: 12, cachedTokens: 8, completionTokens: 5, reasoningTokens: 2 },
  },
  { type: 'choice', choice: 7 },
  {
    type: 'choice-end',
    finishReason: 'length',
    usage: { promptTokens: 12, cachedTokens: 8, completionTokens: 5, reasoningTokens: 2 },
  },
  {
    type: 'token-logprobs',
    tokens: [
      { token: 'Grüß', logprob: -0.25, top: [{ token: 'a "b"', logprob: -7.6246137619018555 }] },
      { token: '', logprob: -9_999, top: [] },
    ],
  },
  {
    type: 'prompt-logprobs',
    first: 256,
    tokens: [
      { token: 'Grüß', logprob: null, top: [] },
      { token: '', logprob: -9_999, top: [{ token: 'a "b"', logprob: -7.6246137619018555 }] },
    ],
  },
  { type: 'vectors-ready', first: 128, count: 64, promptTokens: 640 },
  { type: 'generation-error', code: 'upstream_error', message: 'It failed.' },
]

function entriesOf(events: readonly GenerationEvent[]): FrameEntry[] {
  return events.map((event, at) => ({ stream: 3, epoch: 1, seq: at + 1, event, ids: [at, 2_000] }))
}

test('every event arrives as it was sent', () => {
  const entries = entriesOf(EVENTS)
  const parts = startFrame('worker-1', 5)
  for (const entry of entries) appendEntry(parts, entry)
  expect(decodeGatewayMessage(JSON.stringify(parts))).toEqual({
    kind: 'frame',
    worker: 'worker-1',
    number: 5,
    entries,
  })
})

test('a token of plain text costs at most thirty bytes beside its text', () => {
  const parts = startFrame('worker-1', 5)
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
  const pulse: Pulse = {
    worker: 'worker-1',
    firstKept: 3,
    lastNumber: 9,
    streams: [
      { stream: 1, epoch: 1, lastSeq: 9, state: 'running' },
      { stream: 2, epoch: 3, lastSeq: 0, state: 'ended' },
      { stream: 3, epoch: 1, lastSeq: 0, state: 'claiming' },
      { stream: 4, epoch: 1, lastSeq: 0, state: 'unknown' },
    ],
  }
  expect(decodeGatewayMessage(encodePulse(pulse))).toEqual({ kind: 'pulse', ...pulse })
})

test('a state that only another release knows is no statement about its stream', () => {
  expect(decodeGatewayMessage('[1,"worker-1",1,2,7,1,4,9,8,1,4,1]')).toMatchObject({
    streams: [{ stream: 8, epoch: 1, lastSeq: 4, state: 'running' }],
  })
})

test.each([
  ['a type that is not known', '99,"x",[]', 99],
  ['a value of another type', '3,5,[]', 3],
  ['an unknown finish reason', '6,["weird",1,1,1,1],[]', 6],
  ['no value', '4,null,[]', 4],
  ['no ids', '3,"x",null', 3],
])('an event with %s is unreadable, and the others of its frame are not', (_name, entry, code) => {
  const message = decodeGatewayMessage(`[0,"worker-1",1,1,1,1,${entry},2,1,1,3,"b",[4]]`)
  expect(message).toMatchObject({
    entries: [
      { stream: 1, epoch: 1, seq: 1, event: { type: 'unreadable', code }, ids: [] },
      { stream: 2, epoch: 1, seq: 1, event: { type: 'text-delta', text: 'b' }, ids: [4] },
    ],
  })
})

test('an entry without a readable stream is left out alone', () => {
  const message = decodeGatewayMessage('[0,"worker-1",1,"1",1,1,3,"a",[],2,1,1,3,"b",[4],3,1]')
  expect(message).toMatchObject({ number: 1, entries: [{ stream: 2 }] })
})

test.each([
  'no JSON',
  '{}',
  '[]',
  '[7,"worker-1"]',
  '[0,5,1]',
  '[0,"worker-1","1"]',
  '[1,"worker-1",1]',
  '[1,"worker-1",1,2,"1",1,1,1]',
])('rejects any other text: %s', (text) => {
  expect(() => decodeGatewayMessage(text)).toThrow(FrameError)
})
