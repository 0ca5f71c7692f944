import { afterAll, beforeAll, expect, test } from 'vitest'
import { inTransaction, openPool } from '#apps/billing/database/open-pool.ts'
import { log, openEmptyDatabase, type OpenDatabase } from '../support/billing-database.ts'

let database: OpenDatabase

beforeAll(async () => {
  database = await openEmptyDatabase()
})
afterAll(() => database.close())

test('a connection that is lost between two queries of a transaction fails the transaction, and nothing else', async () => {
  const { pool } = database
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

test('a database that cannot be reached is a clear error after the wait, without its password', async () => {
  const url = 'postgres://somebody:secret@127.0.0.1:1/none'
  await expect(openPool({ url, log, waitMs: 0 })).rejects.toThrow(
    'PostgreSQL at postgres://somebody@127.0.0.1:1/none did not answer within 0 ms',
  )
})
