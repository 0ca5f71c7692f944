import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBillingDatabase, type BillingDatabase } from '../support/billing-database.ts'
import { checkHistories } from './check-histories.ts'

let database: BillingDatabase

beforeAll(async () => {
  database = await openBillingDatabase()
})
afterAll(() => database.close())

// `npm run test:soak` runs ten times as many.
test(
  '500 random histories leave PostgreSQL and the model with the same money',
  { timeout: 300_000 },
  async () => {
    expect(await checkHistories(database, 500)).toEqual({ mistake: undefined, unmet: [] })
  },
)
