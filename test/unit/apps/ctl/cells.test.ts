import { expect, test } from 'vitest'
import { toCredits, toTime } from '#apps/ctl/cells.ts'

test.each([
  ['0', '0'],
  ['1500000000', '1.5'],
  ['-2500000000', '-2.5'],
  ['-1', '-0.000000001'],
  // The cost of a settlement with wrong numbers may exceed an int64.
  ['99999999999999999999999', '99999999999999.999999999'],
  [null, null],
])('%s nano-credits are shown as %s', (nano, credits) => {
  expect(toCredits(nano)).toBe(credits)
})

test('times are shown in UTC, to the second', () => {
  expect(toTime('2030-01-01T12:34:56.789Z')).toBe('2030-01-01 12:34:56Z')
  expect(toTime('2030-01-01T12:34:56Z')).toBe('2030-01-01 12:34:56Z')
  expect(toTime(null)).toBe(null)
})
