import { expect, test } from 'vitest'
import { createRing } from '#apps/console/live/ring.ts'

test('values are at their steps, the newest last, and a step without one is not known', () => {
  const ring = createRing(1_000, 5)
  expect(ring.read().values).toEqual([null, null, null, null, null])
  ring.write(100_000, 1)
  ring.write(101_200, 2)
  ring.write(103_999, 4)
  expect(ring.read()).toEqual({
    stepMs: 1_000,
    until: '1970-01-01T00:01:44.000Z',
    values: [null, 1, 2, null, 4],
  })
})

test('the ring turns: old values go, also over a pause that is longer than the ring', () => {
  const ring = createRing(1_000, 3)
  for (const second of [10, 11, 12, 13]) ring.write(second * 1_000, second)
  expect(ring.read().values).toEqual([11, 12, 13])
  ring.write(99_000, 7)
  expect(ring.read().values).toEqual([null, null, 7])
})

test('a second value of a step replaces the first, and one of an earlier step is dropped', () => {
  const ring = createRing(1_000, 2)
  ring.write(5_000, 1)
  ring.write(5_500, 2)
  ring.write(4_000, 9)
  expect(ring.read().values).toEqual([null, 2])
})

test('a coarser reading has the means of what is known', () => {
  const ring = createRing(1_000, 6)
  ring.write(10_000, 1)
  ring.write(11_000, 2)
  ring.write(12_000, null)
  ring.write(13_000, 6)
  expect(ring.read(2)).toMatchObject({ stepMs: 2_000, values: [null, 1.5, 6] })
})
