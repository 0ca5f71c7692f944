import { expect, test } from 'vitest'
import { nextReset, type Reset } from '#apps/gateway/page/resets.ts'

test.each<[Reset, string, string]>([
  ['daily', '2026-11-23T07:00:00Z', '2026-11-24'],
  ['daily', '2026-12-31T23:59:59Z', '2027-01-01'],
  ['daily', '2026-11-23T00:00:00Z', '2026-11-24'],
  ['weekly', '2026-11-23T00:00:00Z', '2026-11-30'],
  ['weekly', '2026-11-25T12:00:00Z', '2026-11-30'],
  ['weekly', '2026-11-29T23:59:59Z', '2026-11-30'],
  ['monthly', '2026-11-23T07:00:00Z', '2026-12-01'],
  ['monthly', '2026-12-01T00:00:00Z', '2027-01-01'],
])('a %s limit at %s begins anew on %s', (reset, now, expected) => {
  expect(new Date(nextReset(reset, Date.parse(now))).toISOString()).toBe(`${expected}T00:00:00.000Z`)
})
