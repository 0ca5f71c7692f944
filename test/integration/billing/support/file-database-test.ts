import { test as base } from 'vitest'
import { openBillingDatabase } from './billing-database.ts'

/** Tests with one database for all of their file. */
export const test = base.extend('database', { scope: 'file' }, async ({}, { onCleanup }) => {
  const database = await openBillingDatabase()
  onCleanup(() => database.close())
  return database
})
