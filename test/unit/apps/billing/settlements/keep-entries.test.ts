import { expect, test } from 'vitest'
import { dropBeforeMs } from '#apps/billing/settlements/keep-entries.ts'

const HOUR_MS = 3_600_000
const NOW_MS = 100 * HOUR_MS

const settled = (upToMs: number) => ({ untilMs: NOW_MS, upTo: { ms: BigInt(upToMs), seq: 0n } })
const stream = (length: number, oldestMs: number) => ({ length, oldestId: { ms: BigInt(oldestMs), seq: 0n } })

test('an hour of settled entries stays', () => {
  expect(dropBeforeMs(stream(1_000, 0), settled(NOW_MS))).toBe(NOW_MS - HOUR_MS)
  expect(dropBeforeMs({ length: 0, oldestId: null }, settled(NOW_MS))).toBe(NOW_MS - HOUR_MS)
})

test('nothing goes that is not settled by its id', () => {
  const upToMs = NOW_MS - 3 * HOUR_MS
  expect(dropBeforeMs(stream(1_000, 0), settled(upToMs))).toBe(upToMs)
  expect(dropBeforeMs(stream(1_000_000, upToMs + 1), settled(upToMs))).toBe(upToMs)
})

test('of a busy stream the newest 200,000 stay, although they are younger than an hour', () => {
  expect(dropBeforeMs(stream(800_000, NOW_MS - HOUR_MS), settled(NOW_MS))).toBe(NOW_MS - HOUR_MS / 4)
  expect(dropBeforeMs(stream(200_000, NOW_MS - HOUR_MS), settled(NOW_MS))).toBe(NOW_MS - HOUR_MS)
})
