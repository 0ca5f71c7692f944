import { test as base } from 'vitest'
import { openBillingDatabase } from './billing-database.ts'

/**
 * A `test` in which each test has a database of its own. At its end the reconciliation must find no contradiction. A
 * test that damages the books takes `damagedDatabase`, which is not reconciled.
 */
export const test = base
  .extend('damagedDatabase', async ({}, { onCleanup }) => {
    const database = await openBillingDatabase()
    onCleanup(() => database.close())
    return database
  })
  .extend('database', ({ damagedDatabase }, { onCleanup }) => {
    onCleanup(() => damagedDatabase.expectReconciled())
    return damagedDatabase
  })
  .extend('ask', ({ database }) => database.operator.ask)
