import { afterAll, beforeAll, expect, test } from 'vitest'
import { inTransaction, openPool } from '#apps/billing/database/open-pool.ts'
import { createDatabase } from '../../../support/postgres.ts'
import { log } from '../support/billing-database.ts'

let database: Awaited<ReturnType<typeof createDatabase>>
let pool: Awaited<ReturnType<typeof openPool>>

beforeAll(async () => {
  database = await createDatabase()
  pool = await openPool({ url: database.url, log, waitMs: 5_000 })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

test('a connection that is lost between two queries of a transaction fails the transaction, and nothing else', async () => {
  const broken = inTransaction(pool, async (client) => {
    const lost = new Promise((resolve) => client.once('end', resolve))
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
    await lost
    await client.query('select 1')
  })
  await expect(broken).rejects.toThrow(/not queryable|closed/)
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
})
