import { test as base } from 'vitest'
import { openBillingDatabase } from './billing-database.ts'

/** A `test` whose tests share one database per file. */
export const test = base.extend('database', { scope: 'file' }, async ({}, { onCleanup }) => {
  const database = await openBillingDatabase()
  onCleanup(() => database.close())
  return database
})
