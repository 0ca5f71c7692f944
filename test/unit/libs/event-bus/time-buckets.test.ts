import { expect, test } from 'vitest'
import {
  countTime,
  emptyBuckets,
  packBuckets,
  quantileMs,
  unpackBuckets,
} from '#libs/event-bus/time-buckets.ts'

test.each([1, 7, 100, 999, 14_200, 600_000])('a quantile of %d ms is at most 19 % above it', (ms) => {
  const buckets = emptyBuckets()
  countTime(buckets, ms)
  const found = quantileMs(buckets, 0.95) ?? 0
  expect(found).toBeGreaterThanOrEqual(ms)
  expect(found).toBeLessThan(ms * 1.19)
})

test('the half and the 95th percentile are those of the counted times', () => {
  const buckets = emptyBuckets()
  for (let ms = 1; ms <= 64; ms += 1) countTime(buckets, ms)
  expect(quantileMs(buckets, 0.5)).toBe(32)
  expect(quantileMs(buckets, 0.95)).toBe(64)
})

test('without a time there is no quantile, and the longest times share the last bucket', () => {
  expect(quantileMs(emptyBuckets(), 0.5)).toBeNull()
  const buckets = emptyBuckets()
  countTime(buckets, 1e9)
  countTime(buckets, 2 ** 20)
  expect(packBuckets(buckets)).toEqual([80, 2])
})

test('packed buckets are read back; what does not fit is left out', () => {
  const buckets = emptyBuckets()
  for (const ms of [0, 3, 3, 5_000]) countTime(buckets, ms)
  expect(unpackBuckets(packBuckets(buckets))).toEqual(buckets)
  expect(packBuckets(unpackBuckets([0, 2, 99, 5, -1, 5, 1.5, 5, 3]))).toEqual([0, 2])
})
