import { expect, test } from 'vitest'
import { formatCount, formatMs, formatShare } from '#apps/ctl/top/figures.ts'

test.each([
  [0, '0'],
  [0.123, '0.12'],
  [3.1, '3.1'],
  [11.84, '11.8'],
  [212, '212'],
  [3_180, '3,180'],
  [9_999, '9,999'],
  [48_100, '48.1k'],
  [999_499, '999k'],
  [2_050_000, '2.05M'],
])('the count %d is %s', (value, text) => {
  expect(formatCount(value)).toBe(text)
})

test.each([
  [null, '–'],
  [0, '0s'],
  [39.2, '40ms'],
  [400, '0.4s'],
  [30_900, '31s'],
  [720_000, '12min'],
])('the time %d is %s', (ms, text) => {
  expect(formatMs(ms)).toBe(text)
})

test.each([
  [null, '–'],
  [0, '0%'],
  [0.0002, '0.02%'],
  [0.41, '41%'],
])('the share %d is %s', (share, text) => {
  expect(formatShare(share)).toBe(text)
})
