import { expect } from 'vitest'
import { runs } from '#test/support/long.ts'
import { checkHistories } from './check-histories.ts'
import { test } from '../support/billing-test.ts'
import { history } from './money-steps.ts'

test(
  'random histories leave PostgreSQL and the model with the same money',
  { timeout: runs(900_000, 7_200_000) },
  async ({ fileDatabase }) => {
    const checked = await checkHistories(fileDatabase, history, runs(100, 9_000))
    expect(checked).toEqual({ mistake: undefined, unmet: [] })
  },
)
