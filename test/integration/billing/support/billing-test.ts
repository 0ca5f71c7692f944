import { test as base } from 'vitest'
import { openBillingDatabase } from './billing-database.ts'

/** Tests that each have a database of their own. */
export const ownDatabaseTest = base.extend('database', async ({}, { onCleanup }) => {
  const database = await openBillingDatabase()
  onCleanup(() => database.close())
  return database
})

/** Tests with one database for all of their file. */
export const fileDatabaseTest = base.extend('database', { scope: 'file' }, async ({}, { onCleanup }) => {
  const database = await openBillingDatabase()
  onCleanup(() => database.close())
  return database
})
