import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runs } from '#test/support/long.ts'
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

  test(
    'random histories leave PostgreSQL and the model with the same money',
    { timeout: runs(900_000, 7_200_000) },
    async () => {
      const checked = await checkHistories(database, HISTORIES[path], runs(50, 3_000))
      expect(checked).toEqual({ mistake: undefined, unmet: [] })
    },
  )
})
