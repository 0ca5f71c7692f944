import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createDatabase, createPostgres, type TestPostgres } from '../../../support/postgres.ts'
import { createRedis, type TestRedis } from '../../../support/redis.ts'
import { billingEnvironment, startBilling, type BillingProcess } from '../support/billing-process.ts'

// Tests the process from its environment on: a start before its servers, a start while another process migrates, a
// start without the owner's login, and settings that it refuses.

const WAIT = { interval: 50 }

let postgres: TestPostgres
let redis: TestRedis

beforeAll(async () => {
  postgres = await createPostgres()
  redis = await createRedis()
})
afterAll(() => Promise.all([postgres.stop(), redis.stop()]))

async function start(env: Readonly<Record<string, string>>): Promise<BillingProcess> {
  const billing = await startBilling(env)
  onTestFinished(() => billing.kill())
  return billing
}

const serve = async (fields: Readonly<Record<string, string>>) =>
  // Each database needs a cell of its own.
  await start(await billingEnvironment({ QUEUE_REDIS_URL: redis.url, CELL: `c${randomUUID()}`, ...fields }))

async function query(url: string, text: string): Promise<Client> {
  // These options replace the defaults of the database.
  const options = '-c statement_timeout=0 -c search_path=public'
  const client = new Client({ connectionString: url, options })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(text)
  return client
}

async function emptyDatabase(): Promise<string> {
  const { url, drop } = await createDatabase()
  onTestFinished(() => drop())
  return url
}

test('before PostgreSQL it is alive, unready with the reason, and ends at once; later it serves, without Redis too', async () => {
  const url = postgres.url('postgres')
  await postgres.stop()
  await redis.stop()
  const fields = { DATABASE_URL: url, CATALOG_FILE: 'deploy/catalog.demo.json' }
  const [stopped, patient] = [await serve(fields), await serve(fields)]
  const { port } = new URL(url)
  const reason = `waiting for the database: connect ECONNREFUSED 127.0.0.1:${port}`
  await expect.poll(() => stopped.readiness(), WAIT).toEqual({ status: 503, text: reason })
  stopped.signal('SIGTERM')
  expect(await stopped.exited).toBe('exit code 0')

  await expect.poll(() => patient.readiness(), WAIT).toEqual({ status: 503, text: reason })
  await postgres.start()
  await expect.poll(() => patient.readiness(), WAIT).toEqual({ status: 200, text: 'ready' })

  // The process is unready again while the database is down.
  await postgres.stop()
  await expect.poll(() => patient.readiness(), WAIT).toMatchObject({ status: 503 })
  await postgres.start()
  await expect.poll(() => patient.readiness(), WAIT).toEqual({ status: 200, text: 'ready' })
  const metrics = await (await fetch(`${patient.opsUrl}/metrics`)).text()
  expect(metrics).toContain('millrace_billing_money_calls_waiting 0')
  expect(metrics).toContain('millrace_billing_settlement_alarms_total{kind="unknown"} 0')
  patient.signal('SIGTERM')
  expect(await patient.exited).toBe('exit code 0')
  await redis.start()
})

test('while another replica migrates it is unready, and says so', async () => {
  const url = await emptyDatabase()
  const other = await query(url, 'select pg_advisory_lock(7351001)')
  const billing = await serve({ DATABASE_URL: url })
  await expect.poll(() => billing.readiness(), WAIT).toEqual({ status: 503, text: 'migrating' })
  await other.query('select pg_advisory_unlock(7351001)')
  await expect.poll(() => billing.readiness(), WAIT).toEqual({ status: 200, text: 'ready' })
})

test('MIGRATE=only needs only the owner, also twice at once and again; MIGRATE=never then serves without the owner and without a catalog file', async () => {
  const owner = await emptyDatabase()
  const migrate = async () => await start({ MIGRATE: 'only', DATABASE_OWNER_URL: owner })
  const both = [await migrate(), await migrate()]
  expect(await Promise.all(both.map(({ exited }) => exited))).toEqual(['exit code 0', 'exit code 0'])
  expect(both.filter(({ logs }) => logs().includes('"migrated"'))).toHaveLength(1)
  expect(await (await migrate()).exited).toBe('exit code 0')

  const login = `service_${process.pid}`
  const admin = await query(owner, `create role ${login} login password 'test' in role millrace_service`)
  onTestFinished(async () => void (await admin.query(`drop role ${login}`)))
  const url = new URL(owner)
  url.username = login
  url.password = 'test'
  const billing = await serve({ MIGRATE: 'never', DATABASE_URL: url.href })
  await expect.poll(() => billing.readiness(), WAIT).toEqual({ status: 200, text: 'ready' })
  billing.signal('SIGTERM')
  expect(await billing.exited).toBe('exit code 0')
})

describe('MIGRATE=only', () => {
  test('ends with 1 and one sentence without the login of the owner', async () => {
    const billing = await start({ MIGRATE: 'only', DATABASE_URL: postgres.url('postgres') })
    expect(await billing.exited).toBe('exit code 1')
    expect(billing.logs()).toBe(
      'billing: wrong configuration: DATABASE_OWNER_URL is not set: expected a postgres:// URL\n',
    )
  })

  test('ends with 1 when it is stopped before it has migrated', async () => {
    const owner = 'postgres://owner@127.0.0.1:1/none'
    const billing = await start({ MIGRATE: 'only', DATABASE_OWNER_URL: owner })
    await expect.poll(() => billing.logs(), WAIT).toContain('waiting for PostgreSQL')
    billing.signal('SIGTERM')
    expect(await billing.exited).toBe('exit code 1')
  })
})

describe('it ends with 1 and the reason', () => {
  test('on a database without the schema, with MIGRATE=never', async () => {
    const url = await emptyDatabase()
    await query(url, 'select')
    const billing = await serve({ MIGRATE: 'never', DATABASE_URL: url })
    expect(await billing.exited).toBe('exit code 1')
    expect(billing.logs()).toMatch(
      /^billing: wrong configuration: MIGRATE is never, and the database lacks 0001-accounts\.sql.* of this version: run billing with MIGRATE=only first$/m,
    )
  })

  test('with a wrong configuration, every variable named', async () => {
    const billing = await serve({ DATABASE_URL: 'mysql://x', RECEIPT_SECRETS: '', ADMIN_TOKEN: 'short' })
    expect(await billing.exited).toBe('exit code 1')
    expect(billing.logs()).toContain('expected a postgres:// URL')
    expect(billing.logs()).toContain('RECEIPT_SECRETS is not set')
    expect(billing.logs()).toContain('expected at least 16 characters')
  })

  test('without its catalog file', async () => {
    const fields = { DATABASE_URL: postgres.url('postgres'), CATALOG_FILE: 'nowhere.json' }
    const billing = await serve(fields)
    expect(await billing.exited).toBe('exit code 1')
    expect(billing.logs()).toContain('nowhere.json')
  })

  test.each([
    ['create table schema_migrations (version integer)', 'it has a table schema_migrations'],
    [
      `create table schema_parts (name text primary key, sha256 text, version integer, applied_at timestamptz);
       insert into schema_parts values ('0001-accounts.sql', 'a hash of before', 9, now())`,
      '0001-accounts.sql has changed since it was run',
    ],
  ])('on the database of an earlier checkout, in one sentence with what to do: %s', async (made, how) => {
    const url = await emptyDatabase()
    await query(url, made)
    const billing = await serve({ DATABASE_URL: url })
    expect(await billing.exited).toBe('exit code 1')
    expect(billing.logs()).toContain(
      'billing: wrong configuration: the database was made by an earlier checkout of Millrace and cannot be upgraded (' +
        `${how}): start with an empty one (npm start: set MILLRACE_HOME to a new folder, or remove the old one), or run the checkout that made it\n`,
    )
  })
})
