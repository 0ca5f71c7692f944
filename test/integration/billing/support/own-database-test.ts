import { test as base } from 'vitest'
import { openBillingDatabase } from './billing-database.ts'

/** A `test` in which each test has a database of its own. */
export const test = base.extend('database', async ({}, { onCleanup }) => {
  const database = await openBillingDatabase()
  onCleanup(() => database.close())
  return database
})
