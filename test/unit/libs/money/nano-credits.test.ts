import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatCredits, parseCredits, toNanoCredits } from '#libs/money/nano-credits.ts'

const MOST = 2n ** 63n - 1n

test('an amount is between zero and the largest int64', () => {
  expect(toNanoCredits('0')).toBe(0n)
  expect(toNanoCredits(MOST)).toBe(MOST)
  expect(() => toNanoCredits(-1n)).toThrow(RangeError)
  expect(() => toNanoCredits(MOST + 1n)).toThrow(RangeError)
})

test.each([
  [0n, '0'],
  [1n, '0.000000001'],
  [1_500_000_000n, '1.5'],
  [12_000_000_000n, '12'],
  [MOST, '9223372036.854775807'],
])('%s nano-credits read as %s credits, and back', (nano, text) => {
  expect(formatCredits(toNanoCredits(nano))).toBe(text)
  expect(parseCredits(text)).toBe(nano)
})

test('every amount survives being written and read', () => {
  const amounts = fc.bigInt({ min: 0n, max: MOST })
  const details = fc.check(
    fc.property(amounts, (nano) => parseCredits(formatCredits(toNanoCredits(nano))) === nano),
  )
  expect(details.failed).toBe(false)
})

test.each([
  '',
  '.',
  '1.',
  '.5',
  '-1',
  '+1',
  '1e3',
  '1,5',
  ' 1',
  '1.0000000001',
  '0x10',
  '9223372036.854775808',
  '99999999999',
])('%j is no amount of credits', (text) => {
  expect(() => parseCredits(text)).toThrow(RangeError)
})
