import { expect, test } from 'vitest'
import { z } from 'zod'
import { checkFloor, floorNow } from '#apps/scaler/decide/floors.ts'
import { readValues, valuesPath } from '#test/chart/chart-values.ts'

const BERLIN = 'Europe/Berlin'
const DAY = { cron: '0 8 * * 1-5', timezone: BERLIN, min: 4 }
const NIGHT = { cron: '0 20 * * 1-5', timezone: BERLIN, min: 0 }
const WORKDAYS = { min: 1, floors: [DAY, NIGHT] }

/**
 * Converts a time of 2026 in UTC to Unix ms. 2 March is a Monday. Berlin is one hour ahead of UTC until 29 March, and
 * two hours from then on.
 */
const at = (text: string) => Date.parse(`2026-${text}Z`)

test('a floor is in force from its beginning until the next floor begins', () => {
  expect(floorNow(WORKDAYS, at('03-03T06:59:59.999'))).toBe(1)
  expect(floorNow(WORKDAYS, at('03-03T07:00'))).toBe(4)
  expect(floorNow(WORKDAYS, at('03-03T07:01'))).toBe(4)
  expect(floorNow(WORKDAYS, at('03-03T18:59:59.999'))).toBe(4)
  expect(floorNow(WORKDAYS, at('03-03T19:00'))).toBe(1)
})

test('the last floor of a week is in force until the first one of the next', () => {
  expect(floorNow({ min: 0, floors: [DAY, { ...NIGHT, min: 2 }] }, at('03-02T06:59'))).toBe(2)
  expect(floorNow({ min: 0, floors: [DAY] }, at('03-01T12:00'))).toBe(4)
})

test('the floors of the chart’s example raise the minimum from 08:00 to 20:00 on working days', () => {
  const Models = z.object({
    'qwen3-32b': z.object({
      scale: z.object({
        min: z.int(),
        floors: z.array(z.object({ cron: z.string(), timezone: z.string(), min: z.int() })),
      }),
    }),
  })
  const { scale } = Models.parse(readValues(valuesPath('production'))['models'])['qwen3-32b']
  expect(scale.floors).toHaveLength(2)
  const times = ['02T06:59', '02T07:00', '02T12:00', '02T18:59', '02T19:00', '03T03:00', '07T12:00']
  expect(times.map((time) => floorNow(scale, at(`03-${time}`)))).toEqual([1, 3, 3, 3, 1, 1, 1])
})

test('floors of a year and of some years are found long after they began', () => {
  const yearly = { cron: '0 0 24 12 *', timezone: 'UTC', min: 9 }
  const leap = { cron: '0 0 29 2 *', timezone: 'UTC', min: 7 }
  expect(floorNow({ min: 0, floors: [yearly] }, at('12-23T00:00'))).toBe(9)
  expect(floorNow({ min: 0, floors: [leap] }, at('12-23T00:00'))).toBe(7)
  expect(floorNow({ min: 0, floors: [yearly, leap] }, at('12-23T00:00'))).toBe(9)
})

test('summer time moves a floor with the clock of its zone', () => {
  expect(floorNow(WORKDAYS, at('03-30T05:59'))).toBe(1)
  expect(floorNow(WORKDAYS, at('03-30T06:00'))).toBe(4)
})

test('a floor at an hour that the clock skips begins when it does, one at a repeated hour the first time', () => {
  const early = { cron: '30 2 * * *', timezone: BERLIN, min: 5 }
  const midnight = { cron: '0 0 * * *', timezone: BERLIN, min: 2 }
  const spec = { min: 0, floors: [midnight, early] }
  // On 29 March at 01:00 UTC the clock goes from 02:00 to 03:00, and on 25 October at 01:00 UTC from 03:00 to 02:00.
  const times = ['03-29T00:59', '03-29T01:00', '10-25T00:29', '10-25T00:30', '10-25T01:15', '10-25T23:00']
  expect(times.map((time) => floorNow(spec, at(time)))).toEqual([2, 5, 2, 5, 5, 2])
})

test('of floors that begin together, and of the floor and the minimum, the higher one applies', () => {
  const together = { ...DAY, min: 6 }
  expect(floorNow({ min: 1, floors: [DAY, together] }, at('03-03T12:00'))).toBe(6)
  expect(floorNow({ min: 1, floors: [together, DAY] }, at('03-03T12:00'))).toBe(6)
  expect(floorNow({ min: 9, floors: [DAY, together] }, at('03-03T12:00'))).toBe(9)
  expect(floorNow({ min: 3, floors: [] }, at('03-03T12:00'))).toBe(3)
})

test('the same floors are read at any order of times', () => {
  const times = ['03-03T12:00', '03-03T22:00', '03-03T06:00', '03-03T12:00', '03-02T22:00']
  expect(times.map((time) => floorNow(WORKDAYS, at(time)))).toEqual([4, 1, 1, 4, 1])
})

test.each([
  ['at noon', BERLIN, /pattern/i],
  ['0 * * * * *', BERLIN, /pattern/i],
  ['0 22-6 * * *', BERLIN, /larger/i],
  ['0 8 * * 1-5', 'Mars/Olympus', /zone/i],
  ['0 8 31 4 *', BERLIN, /no date/],
  ['* 8-19 * * 1-5', BERLIN, /expected a minute in place of \*/],
  ['*/5 8-19 * * 1-5', BERLIN, /expected a minute in place of \*\/5/],
])('the floor %s in %s is an error', (cron, timezone, message) => {
  expect(() => checkFloor({ cron, timezone })).toThrow(message)
})
