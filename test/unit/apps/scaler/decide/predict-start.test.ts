import { describe, expect, test } from 'vitest'
import { noteStart, predictStart, predictWholeStart } from '#apps/scaler/decide/predict-start.ts'
import { NO_START_TIMES, type PodPhase, type StartTimes } from '#apps/scaler/decide/types.ts'
import { toPod } from './fixtures.ts'

const SPEC = { startMs: 180_000 }
const KEPT: StartTimes = {
  unscheduled: [1000, 2000, 3000, 40_000],
  loading: [90_000, 100_000, 110_000, 120_000],
}

function predict(phase: PodPhase, sincePhaseMs: number, kept = KEPT) {
  return predictStart({ spec: SPEC, kept, pods: [toPod('a', { phase, sincePhaseMs })] })
}

describe('of a loading pod', () => {
  test('three quarters of the kept durations lie before the predicted end', () => {
    expect(predict('loading', 0)).toBe(110_000)
  })

  test('durations that have passed already do not count', () => {
    expect(predict('loading', 105_000)).toBe(15_000)
    expect(predict('loading', 115_000)).toBe(5000)
  })

  test('beyond all of them it takes half as long again, and at least 5 s more', () => {
    expect(predict('loading', 130_000)).toBe(50_000)
    expect(predict('loading', 179_000)).toBe(5000)
  })

  test('without a kept duration the configured time applies', () => {
    expect(predict('loading', 30_000, NO_START_TIMES)).toBe(150_000)
    expect(predict('loading', 200_000, NO_START_TIMES)).toBe(70_000)
  })
})

test('of a pod without a node, loading comes on top', () => {
  expect(predict('unscheduled', 0)).toBe(3000 + 110_000)
  expect(predict('unscheduled', 5000)).toBe(35_000 + 110_000)
})

test('the first of several pods counts, and ready ones do not', () => {
  const pods = [
    toPod('a', { phase: 'loading', sincePhaseMs: 10_000 }),
    toPod('b', { phase: 'loading', sincePhaseMs: 50_000 }),
    toPod('c', { sincePhaseMs: 100_000 }),
  ]
  expect(predictStart({ spec: SPEC, kept: KEPT, pods })).toBe(60_000)
})

test('nothing that starts gives no prediction, and a whole start has one of its own', () => {
  expect(predictStart({ spec: SPEC, kept: KEPT, pods: [toPod('a')] })).toBeNull()
  expect(predictWholeStart(SPEC, KEPT)).toBe(3000 + 110_000)
  expect(predictWholeStart(SPEC, NO_START_TIMES)).toBe(180_000)
})

test('the last 20 durations of each phase are kept', () => {
  let kept = NO_START_TIMES
  for (let ms = 1; ms <= 25; ms += 1) kept = noteStart(kept, { phase: 'loading', ms })
  expect(kept).toEqual({ unscheduled: [], loading: Array.from({ length: 20 }, (_, index) => index + 6) })
  expect(NO_START_TIMES.loading).toEqual([])
})
