import { expect, test } from 'vitest'
import { compareStreamIds, parseStreamId } from '#apps/billing/settlements/stream-id.ts'
import { createWatermarkTracker, type ObservedProgress } from '#apps/billing/settlements/watermark.ts'

type Look = { at: number; last: string; delivered: string; pending?: string; runId?: string }

function look({ at, last, delivered, pending, runId = 'run-1' }: Look): ObservedProgress {
  const stream = {
    lastId: parseStreamId(last),
    deliveredId: parseStreamId(delivered),
    oldestPendingId: pending === undefined ? null : parseStreamId(pending),
  }
  return { runId, timeMs: at, stream }
}

/** Returns the tracker's result after each observation. */
function watermarks(looks: Look[]) {
  const tracker = createWatermarkTracker()
  return looks.map((next) => tracker.judge('m', look(next))?.untilMs ?? null)
}

test('an idle stream is settled until now, however old its last entry', () => {
  expect(
    watermarks([
      { at: 900, last: '5-0', delivered: '5-0' },
      { at: 1900, last: '5-0', delivered: '5-0' },
    ]),
  ).toEqual([900, 1900])
})

test('an empty stream is settled until now', () => {
  expect(watermarks([{ at: 900, last: '0-0', delivered: '0-0' }])).toEqual([900])
})

test('what was not delivered yet holds it back', () => {
  expect(watermarks([{ at: 900, last: '5-1', delivered: '5-0' }])).toEqual([null])
})

test('a pending entry delays it until it is acknowledged; then the time of that first observation counts', () => {
  expect(
    watermarks([
      { at: 100, last: '5-0', delivered: '5-0', pending: '5-0' },
      { at: 200, last: '6-0', delivered: '6-0', pending: '5-0' },
      { at: 300, last: '7-0', delivered: '7-0', pending: '7-0' },
      { at: 400, last: '8-0', delivered: '8-0', pending: '8-0' },
    ]),
  ).toEqual([null, null, 100, 300])
})

test('under steady load it follows, one look behind', () => {
  const looks = [1, 2, 3, 4].map((n) => ({
    at: n * 100,
    last: `${n}-9`,
    delivered: `${n}-5`,
    pending: `${n}-2`,
  }))
  expect(watermarks(looks)).toEqual([null, 100, 200, 300])
})

test('an observation of another server is not compared with one of this', () => {
  expect(
    watermarks([
      { at: 100, last: '5-0', delivered: '5-0', pending: '5-0' },
      { at: 200, last: '9-0', delivered: '9-0', pending: '9-0', runId: 'run-2' },
      { at: 300, last: '9-1', delivered: '9-1', pending: '9-1', runId: 'run-2' },
    ]),
  ).toEqual([null, null, 200])
})

test('a stream without our group has no watermark', () => {
  const tracker = createWatermarkTracker()
  expect(tracker.judge('m', { runId: 'run-1', timeMs: 1, stream: null })).toBeNull()
})

test('stream ids are ordered as numbers, not as text', () => {
  const ids = ['10-2', '9-10', '10-10', '9-9'].map(parseStreamId).sort(compareStreamIds)
  expect(ids.map(({ ms, seq }) => `${ms}-${seq}`)).toEqual(['9-9', '9-10', '10-2', '10-10'])
  expect(compareStreamIds(parseStreamId('1-1'), parseStreamId('1-1'))).toBe(0)
  expect(() => parseStreamId('17')).toThrow(SyntaxError)
})
