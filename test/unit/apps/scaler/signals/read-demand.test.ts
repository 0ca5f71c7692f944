import { expect, test } from 'vitest'
import { createDemandReader } from '#apps/scaler/signals/read-demand.ts'

/** A reader with a clock that the test sets, and gateways whose counters are given as they grow. */
function startReader() {
  let now = 1_000_000
  const woken: string[] = []
  const reader = createDemandReader({ nowMs: () => now, onUnserved: (model) => woken.push(model) })
  const zero = { fresh: 0, repeated: 0, refused: 0, unserved: 0, waitingTokens: 0 }
  return {
    reader,
    woken,
    pass(ms: number) {
      now += ms
    },
    send(id: string, counters: Partial<typeof zero> & { unservedAgoMs?: number | null } = {}) {
      const models = { chat: { ...zero, unservedAgoMs: null, ...counters } }
      reader.receive({ id, openStreams: 10, loopDelayMs: 5, models })
    },
  }
}

test('the rate is the sum over gateways, and the first counters of each are no load', () => {
  const { reader, send, pass } = startReader()
  pass(60_000)
  send('a', { fresh: 5_000 })
  expect(reader.load('chat').freshPerS).toBe(0)
  for (let second = 1; second <= 60; second += 1) {
    pass(1_000)
    send('a', { fresh: 5_000 + second * 3 })
    send('b', { fresh: second * 2 })
  }
  expect(reader.load('chat').freshPerS).toBeCloseTo(5, 0)
})

test('a burst of 15 s shows at once, and its end is felt after a minute', () => {
  const { reader, send, pass } = startReader()
  pass(120_000)
  let fresh = 0
  const seconds = (count: number, perSecond: number) => {
    for (let second = 0; second < count; second += 1) {
      pass(1_000)
      fresh += perSecond
      send('a', { fresh })
    }
  }
  seconds(60, 1)
  seconds(15, 20)
  expect(reader.load('chat').freshPerS).toBeCloseTo(20, 0)
  seconds(30, 0)
  expect(reader.load('chat').freshPerS).toBeGreaterThan(4)
  seconds(60, 0)
  expect(reader.load('chat').freshPerS).toBe(0)
})

test('a lost message heals, and what came during an outage of the bus is no burst', () => {
  const { reader, send, pass } = startReader()
  pass(120_000)
  send('a', { fresh: 0 })
  pass(1_000)
  send('a', { fresh: 10 })
  pass(40_000)
  send('a', { fresh: 410 })
  expect(reader.load('chat').freshPerS).toBeCloseTo(10, 0)
})

test.each([
  // Ten clients are all refused and mark their repeated requests, so the load is that of ten clients.
  { counters: { fresh: 60, repeated: 600, refused: 600 }, perSecond: 1 },
  // These clients do not mark repeated requests, so each refusal counts half.
  { counters: { fresh: 660, refused: 600 }, perSecond: 6 },
  { counters: { fresh: 60, refused: 60, unserved: 60 }, perSecond: 0.5 },
  { counters: { fresh: 60 }, perSecond: 1 },
])('of $counters in a minute $perSecond generations per second were offered', ({ counters, perSecond }) => {
  const { reader, send, pass } = startReader()
  pass(120_000)
  send('a')
  pass(60_000)
  send('a', counters)
  expect(reader.load('chat').freshPerS).toBeCloseTo(perSecond, 1)
})

test('a request without a worker wakes at once, and is remembered for a minute', () => {
  const { reader, woken, send, pass } = startReader()
  send('a', { unserved: 1, unservedAgoMs: 0 })
  expect(woken).toEqual(['chat'])
  expect(reader.load('chat').unserved).toBe(true)
  pass(59_000)
  send('a', { unserved: 1, unservedAgoMs: 59_000 })
  expect(reader.load('chat').unserved).toBe(true)
  expect(woken).toEqual(['chat'])
  pass(2_000)
  expect(reader.load('chat').unserved).toBe(false)
})

test('waiting tokens and streams are those of gateways that still report', () => {
  const { reader, send, pass } = startReader()
  send('a', { waitingTokens: 100 })
  pass(4_000)
  send('b', { waitingTokens: 11 })
  expect(reader.load('chat').waitingTokens).toBe(111)
  expect(reader.gateways()).toEqual({ openStreams: 20, loopDelayMs: 5 })
  pass(3_000)
  expect(reader.load('chat').waitingTokens).toBe(11)
  pass(3_000)
  expect(reader.gateways()).toBeNull()
})

test('the time since the last request grows while nothing is offered', () => {
  const { reader, send, pass } = startReader()
  expect(reader.load('chat').offeredAgoMs).toBeNull()
  send('a', { fresh: 1 })
  pass(5_000)
  send('a', { fresh: 2 })
  pass(7_000)
  send('a', { fresh: 2 })
  expect(reader.load('chat').offeredAgoMs).toBe(7_000)
})

test('a request that waits for its model’s start wakes at once, and is offered in full', () => {
  const { reader, woken, send, pass } = startReader()
  pass(60_000)
  send('a')
  pass(1_000)
  send('a', { fresh: 60, unserved: 60 })
  expect(woken).toEqual(['chat'])
  expect(reader.load('chat')).toMatchObject({ freshPerS: 4, unserved: false })
})
