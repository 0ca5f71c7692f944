import { expect, test } from 'vitest'
import { toSteadyModel } from '#apps/console/live/steady.ts'
import type { ModelNow } from '#libs/live-view/rows.ts'

const ROW: ModelNow = {
  id: 'chat',
  state: 'serving',
  waiting: 100,
  oldestWaitMs: 0,
  running: 100,
  slots: 128,
  workers: { ready: 1, all: 1 },
  askedPerS: 100,
  endsPerS: 0,
  failedPerS: 0,
  meanGenerationMs: 5_000,
  expectedWaitMs: 0,
  shortSlots: 0,
  tokensPerS: { prompt: 1_000, cached: 0, completion: 1_000 },
  queueMs: { p50: null, p95: null },
  firstTokenMs: { p50: null, p95: null },
  refusedPerS: { model_busy: 50 },
}

test('rates and means stay within 2 % of the row before; counts are exact', () => {
  const noisy = {
    ...ROW,
    waiting: 101,
    running: 99,
    askedPerS: 102,
    meanGenerationMs: 4_900,
    tokensPerS: { prompt: 1_021, cached: 1, completion: 980 },
    refusedPerS: { model_busy: 50.9 },
  }
  expect(toSteadyModel(ROW, noisy)).toEqual({
    ...ROW,
    waiting: 101,
    running: 99,
    tokensPerS: { prompt: 1_021, cached: 1, completion: 1_000 },
  })
})

test('a slow drift arrives, zero is exact, and what became unknown is unknown', () => {
  let row = ROW
  for (let askedPerS = 101; askedPerS <= 110; askedPerS += 1) row = toSteadyModel(row, { ...ROW, askedPerS })
  expect(row.askedPerS).toBeGreaterThan(107)
  const gone = { ...ROW, askedPerS: 0, meanGenerationMs: null, refusedPerS: {} }
  expect(toSteadyModel(ROW, gone)).toEqual(gone)
  expect(toSteadyModel(gone, ROW)).toEqual(ROW)
})
