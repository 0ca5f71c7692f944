import { test as base } from 'vitest'
import { openBillingDatabase, START_MS } from './billing-database.ts'

/**
 * The `test` of most files of billing. Its tests share one database per file. After each test that names the database,
 * the reconciliation must find no contradiction, and the clock returns to `START_MS`. What a file opens once, for all of
 * its tests, depends on `fileDatabase`, which is the same database.
 */
export const test = base
  .extend('fileDatabase', { scope: 'file' }, async ({}, { onCleanup }) => {
    const database = await openBillingDatabase()
    onCleanup(() => database.close())
    return database
  })
  .extend('database', ({ fileDatabase }, { onCleanup }) => {
    onCleanup(async () => {
      await fileDatabase.expectReconciled()
      fileDatabase.clock.nowMs = START_MS
    })
    return fileDatabase
  })
  .extend('ask', ({ database }) => database.operator.ask)
