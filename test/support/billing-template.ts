import { pino } from 'pino'
import { migrate } from '#apps/billing/database/migrate.ts'
import { openPool } from '#apps/billing/database/open-pool.ts'
import { copyDatabase, ensureDatabase, type TestDatabase } from './postgres.ts'

const TEMPLATE = 'billing_template'
const log = pino({ level: 'silent' })

let template: Promise<void> | undefined

/**
 * Creates a database with billing's tables, roles and functions. It is a copy of a template database. The template is
 * migrated only once for all tests of a run, because a migration takes ten times the processor time of a copy.
 */
export async function createBillingDatabase(): Promise<TestDatabase> {
  template ??= ensureDatabase(TEMPLATE, migrateInto)
  await template
  return await copyDatabase(TEMPLATE)
}

async function migrateInto(url: string): Promise<void> {
  const pool = await openPool({ url, log, waitMs: 5_000 })
  await migrate(pool, log)
  await pool.end()
}
