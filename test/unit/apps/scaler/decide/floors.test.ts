import { expect, test } from 'vitest'
import { floorNow } from '#apps/scaler/decide/floors.ts'

const WORKDAYS = { cron: '* 8-19 * * 1-5', timezone: 'Europe/Berlin', min: 4 }
const LUNCH = { cron: '* 12 * * *', timezone: 'Europe/Berlin', min: 6 }

/** 2026-03-02 is a Monday; Berlin is one hour ahead of UTC on it. */
const monday = (time: string) => Date.parse(`2026-03-02T${time}Z`)

test('a floor applies in each minute that its expression matches, in its own time zone', () => {
  const spec = { min: 1, floors: [WORKDAYS] }
  expect(floorNow(spec, monday('06:59:59'))).toBe(1)
  expect(floorNow(spec, monday('07:00:00'))).toBe(4)
  expect(floorNow(spec, monday('18:59:59.999'))).toBe(4)
  expect(floorNow(spec, monday('19:00:00'))).toBe(1)
  expect(floorNow(spec, Date.parse('2026-03-01T12:00:00Z'))).toBe(1)
})

test('summer time moves a floor with the clock of its zone', () => {
  const spec = { min: 0, floors: [WORKDAYS] }
  expect(floorNow(spec, Date.parse('2026-03-30T06:00:00Z'))).toBe(4)
  expect(floorNow(spec, Date.parse('2026-03-30T05:59:00Z'))).toBe(0)
})

test('of several floors and the minimum the highest applies', () => {
  expect(floorNow({ min: 1, floors: [WORKDAYS, LUNCH] }, monday('11:30:00'))).toBe(6)
  expect(floorNow({ min: 9, floors: [WORKDAYS, LUNCH] }, monday('11:30:00'))).toBe(9)
})

test('an expression or a time zone that does not exist is an error', () => {
  expect(() => floorNow({ min: 0, floors: [{ ...WORKDAYS, cron: 'at noon' }] }, 0)).toThrow(/pattern/i)
  expect(() => floorNow({ min: 0, floors: [{ ...WORKDAYS, cron: '0 * * * * *' }] }, 0)).toThrow(/pattern/i)
  expect(() => floorNow({ min: 0, floors: [{ ...WORKDAYS, timezone: 'Mars/Olympus' }] }, 0)).toThrow(/zone/i)
})
