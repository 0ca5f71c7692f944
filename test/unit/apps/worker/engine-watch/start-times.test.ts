import { expect, test } from 'vitest'
import { createStartTimes } from '#apps/worker/engine-watch/start-times.ts'

test('without a known start the limit is the configured one', () => {
  expect(createStartTimes().limitMs(1_000)).toBe(1_000)
})

test('it is three times the 95th percentile of the last 20 starts, where that is more', () => {
  const times = createStartTimes()
  for (let ms = 1_000; ms <= 20_000; ms += 1_000) times.add(ms)
  expect(times.limitMs(1_000)).toBe(57_000)
  expect(times.limitMs(60_000)).toBe(60_000)
  for (let start = 0; start < 20; start += 1) times.add(500)
  expect(times.limitMs(1_000)).toBe(1_500)
})
