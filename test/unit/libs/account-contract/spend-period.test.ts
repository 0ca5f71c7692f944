import { expect, test } from 'vitest'
import { RESETS, toPeriod } from '#libs/account-contract/spend-period.ts'

test.each(Object.entries(RESETS))('the period %s begins anew %s, and back', (period, reset) => {
  expect(toPeriod(reset)).toBe(period)
})
