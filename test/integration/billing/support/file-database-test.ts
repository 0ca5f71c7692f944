import { test as base } from 'vitest'
import { openBillingDatabase } from './billing-database.ts'

/**
 * A `test` whose tests share one database per file. A test that changes the database for good takes `ownDatabase`, which
 * no other test has.
 */
export const test = base
  .extend('database', { scope: 'file' }, async ({}, { onCleanup }) => {
    const database = await openBillingDatabase()
    onCleanup(() => database.close())
    return database
  })
  .extend('ownDatabase', async ({}, { onCleanup }) => {
    const database = await openBillingDatabase()
    onCleanup(() => database.close())
    return database
  })
