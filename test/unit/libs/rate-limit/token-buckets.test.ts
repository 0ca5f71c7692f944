import { expect, it } from 'vitest'
import { createTokenBuckets } from '#libs/rate-limit/token-buckets.ts'

/** Buckets of ten that get two per second. */
function setUp() {
  const clock = { ms: 5_000 }
  return { clock, ...createTokenBuckets({ perS: 2, burst: 10, nowMs: () => clock.ms }) }
}

it('gives a burst, then the rate, to each name', () => {
  const { clock, take, waitS } = setUp()
  for (let taken = 0; taken < 10; taken += 1) {
    expect(waitS('a')).toBe(0)
    take('a')
  }
  expect([waitS('a'), waitS('a', 3), waitS('b', 10)]).toEqual([0.5, 1.5, 0])
  clock.ms += 500
  expect(waitS('a')).toBe(0)
  clock.ms += 3_600_000
  expect([waitS('a', 10), waitS('a', 11)]).toEqual([0, 0.5])
})

it('owes at most one burst', () => {
  const { take, waitS } = setUp()
  for (let taken = 0; taken < 1_000; taken += 1) take('a')
  expect(waitS('a')).toBe(5.5)
})
