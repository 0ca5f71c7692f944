import { expect, test } from 'vitest'
import { createPoisonBound } from '#apps/gateway/generation/poison-bound.ts'

test('a key is barred by its third poisonous request within ten minutes, until the first is that old', () => {
  const clock = { nowMs: 0 }
  const bound = createPoisonBound(() => clock.nowMs)
  for (const minute of [0, 4]) {
    clock.nowMs = minute * 60_000
    bound.note('key-1')
  }
  expect(bound.isBarred('key-1')).toBe(false)
  clock.nowMs = 8 * 60_000
  bound.note('key-1')
  expect([bound.isBarred('key-1'), bound.isBarred('key-2')]).toEqual([true, false])
  clock.nowMs = 10 * 60_000
  expect(bound.isBarred('key-1')).toBe(false)
})
