import { expect, test } from 'vitest'
import { boundSpec, isFrozen, NO_SWITCHES, type KedaSwitches } from '#apps/scaler/decide/keda-switches.ts'
import { toSpec } from './fixtures.ts'

const bounds = (switches: Partial<KedaSwitches>, now: { target: number; existing: number }) => {
  const { min, max } = boundSpec(toSpec({ min: 2, max: 8 }), { ...NO_SWITCHES, ...switches }, now)
  return [min, max]
}

test('a pause of one direction moves one bound to the number that is there', () => {
  expect(bounds({}, { target: 5, existing: 4 })).toEqual([2, 8])
  expect(bounds({ isInPaused: true }, { target: 5, existing: 4 })).toEqual([5, 8])
  expect(bounds({ isInPaused: true }, { target: 4, existing: 5 })).toEqual([5, 8])
  expect(bounds({ isOutPaused: true }, { target: 5, existing: 4 })).toEqual([2, 5])
})

test('a pause holds beyond the minimum and the maximum of the configuration', () => {
  expect(bounds({ isInPaused: true }, { target: 11, existing: 11 })).toEqual([11, 11])
  expect(bounds({ isOutPaused: true }, { target: 1, existing: 1 })).toEqual([1, 1])
  expect(bounds({ isOutPaused: true, isInPaused: true }, { target: 5, existing: 12 })).toEqual([12, 12])
})

test('a pool that is kept active has a minimum of one', () => {
  const { min } = boundSpec(
    toSpec({ min: 0 }),
    { ...NO_SWITCHES, isForcedActive: true },
    { target: 0, existing: 0 },
  )
  expect(min).toBe(1)
})

test('a pool is frozen when both directions are paused', () => {
  expect(isFrozen({ ...NO_SWITCHES, isOutPaused: true })).toBe(false)
  expect(isFrozen({ ...NO_SWITCHES, isOutPaused: true, isInPaused: true })).toBe(true)
})
