import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBillingDatabase, type BillingDatabase } from '../integration/billing/support/billing-database.ts'
import { checkHistories } from '../integration/billing/model/check-histories.ts'
import { HISTORIES } from '../integration/billing/model/money-steps.ts'
import { PATHS } from '../integration/billing/support/money-paths.ts'

const COUNT = Number(process.env['MILLRACE_HISTORIES'] ?? 3_000)

describe.each(PATHS)('on the %s path of single calls', (path) => {
  let database: BillingDatabase

  beforeAll(async () => {
    database = await openBillingDatabase({ path })
  })
  afterAll(() => database.close())

  test(
    'thousands of random histories leave PostgreSQL and the model with the same money',
    { timeout: 3_600_000 },
    async () => {
      expect(await checkHistories(database, HISTORIES[path], COUNT)).toEqual({
        mistake: undefined,
        unmet: [],
      })
    },
  )
})
