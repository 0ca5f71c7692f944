import { test as base } from 'vitest'
import { openBillingDatabase } from './billing-database.ts'

/** Tests that each have a database of their own. */
export const test = base.extend('database', async ({}, { onCleanup }) => {
  const database = await openBillingDatabase()
  onCleanup(() => database.close())
  return database
})
