import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBillingDatabase, type BillingDatabase } from '../support/billing-database.ts'
import { checkHistories } from './check-histories.ts'
import { HISTORIES } from './money-steps.ts'
import { PATHS } from '../support/money-paths.ts'

describe.each(PATHS)('on the %s path of single calls', (path) => {
  let database: BillingDatabase

  beforeAll(async () => {
    database = await openBillingDatabase({ path })
  })
  afterAll(() => database.close())

  // `npm run test:soak` runs ten times as many.
  test(
    '300 random histories leave PostgreSQL and the model with the same money',
    { timeout: 900_000 },
    async () => {
      expect(await checkHistories(database, HISTORIES[path], 300)).toEqual({ mistake: undefined, unmet: [] })
    },
  )
})
