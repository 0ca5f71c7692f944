import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../../support/free-port.ts'
import { createDatabase, createPostgres, type TestPostgres } from '../../../support/postgres.ts'
import { startApp } from '../../../support/processes.ts'
import { createRedis, type TestRedis } from '../../../support/redis.ts'

// The process as it is run: environment in, ports out.

let postgres: TestPostgres
let redis: TestRedis

beforeAll(async () => {
  postgres = await createPostgres()
  redis = await createRedis()
})
afterAll(() => Promise.all([postgres.stop(), redis.stop()]))

async function environment(fields: Record<string, string> = {}): Promise<Record<string, string>> {
  return {
    DATABASE_URL: postgres.url('postgres'),
    QUEUE_REDIS_URL: redis.url,
    GRPC_LISTEN: `127.0.0.1:${await freePort()}`,
    ADMIN_PORT: String(await freePort()),
    ADMIN_TOKEN: 'a-token-of-the-tests',
    RECEIPT_SECRETS: 'a-receipt-secret-of-32-characters',
    CATALOG_FILE: 'deploy/catalog.demo.json',
    ...fields,
  }
}

test('waits for PostgreSQL, serves without Redis, is unready while the database is down, and ends at once', async () => {
  await postgres.stop()
  await redis.stop()
  const starting = startApp('billing', await environment())
  await postgres.start()
  const billing = await starting
  const ready = async () => (await fetch(`${billing.opsUrl}/readyz`)).status

  await postgres.stop()
  await expect.poll(ready).toBe(503)
  await postgres.start()
  await expect.poll(ready).toBe(200)
  const metrics = await (await fetch(`${billing.opsUrl}/metrics`)).text()
  expect(metrics).toContain('millrace_billing_money_calls_waiting 0')
  expect(metrics).toContain('millrace_billing_settlement_alarms_total{kind="unknown"} 0')

  billing.signal('SIGTERM')
  expect(await billing.exited).toBe('exit code 0')
})

test.each([
  ['no admin token', { ADMIN_TOKEN: '' }, 'ADMIN_TOKEN is not set'],
  ['no receipt secret', { RECEIPT_SECRETS: '' }, 'RECEIPT_SECRETS is not set'],
  ['a short admin token', { ADMIN_TOKEN: 'short' }, 'expected at least 16 characters'],
  ['no database', { DATABASE_URL: 'mysql://x' }, 'expected a postgres:// URL'],
  ['a catalog file that is not there', { CATALOG_FILE: 'nowhere.json' }, 'nowhere.json'],
])('does not start with %s, and says why', async (_, fields, reason) => {
  await expect(startApp('billing', await environment(fields))).rejects.toThrow(reason)
})

test('does not start on the database of an earlier checkout, and says in one sentence what to do', async () => {
  const { url, drop } = await createDatabase()
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('create table schema_migrations (version integer primary key)')
  await client.end()
  await expect(startApp('billing', await environment({ DATABASE_URL: url }))).rejects.toThrow(
    'billing: wrong configuration: the database was made by an earlier checkout of Millrace and cannot be upgraded: start with an empty one (npm start: set MILLRACE_HOME to a new folder, or remove the old one)\n',
  )
  await drop()
})
