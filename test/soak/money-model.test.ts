import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBillingDatabase, type BillingDatabase } from '../integration/billing/support/billing-database.ts'
import { checkHistories } from '../integration/billing/model/check-histories.ts'

const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 5_000)

let database: BillingDatabase

beforeAll(async () => {
  database = await openBillingDatabase()
})
afterAll(() => database.close())

test(
  'thousands of random histories leave PostgreSQL and the model with the same money',
  { timeout: 3_600_000 },
  async () => {
    expect(await checkHistories(database, HISTORIES)).toEqual({ mistake: undefined, unmet: [] })
  },
)
