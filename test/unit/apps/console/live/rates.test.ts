import { expect, test } from 'vitest'
import { createRate, createRecentTimes, growth } from '#apps/console/live/rates.ts'
import { countTime, emptyBuckets } from '#libs/event-bus/time-buckets.ts'

test('a rate is what came within the window, over its length', () => {
  const clock = { nowMs: 100_000 }
  const rate = createRate(() => clock.nowMs)
  rate.add(20)
  clock.nowMs = 105_000
  rate.add(30)
  expect(rate.perS(clock.nowMs, 10_000)).toBe(5)
  clock.nowMs = 112_000
  expect(rate.perS(clock.nowMs, 10_000)).toBe(3)
  clock.nowMs = 400_000
  expect(rate.perS(clock.nowMs, 10_000)).toBe(0)
})

test('times are those of the last minute', () => {
  const clock = { nowMs: 0 }
  const times = createRecentTimes(() => clock.nowMs)
  expect(times.quantiles(0)).toEqual({ p50: null, p95: null })
  const buckets = emptyBuckets()
  countTime(buckets, 1_000)
  times.add(buckets)
  clock.nowMs = 59_999
  expect(times.quantiles(clock.nowMs)).toEqual({ p50: 1_020, p95: 1_020 })
  clock.nowMs = 60_000
  expect(times.quantiles(clock.nowMs)).toEqual({ p50: null, p95: null })
})

test('a counter that began anew, or was never seen, has not grown', () => {
  expect([growth(3, 5), growth(undefined, 5), growth(5, 3)]).toEqual([2, 0, 0])
})
