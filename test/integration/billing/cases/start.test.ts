import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createDatabase, createPostgres, type TestPostgres } from '../../../support/postgres.ts'
import { createRedis, type TestRedis } from '../../../support/redis.ts'
import { billingEnvironment, startBilling, type BillingProcess } from '../support/billing-process.ts'

// How a replica starts: before its servers, while another migrates, and without the owner's login.

const WAIT = { timeout: 60_000, interval: 50 }

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
  await start(await billingEnvironment({ QUEUE_REDIS_URL: redis.url, ...fields }))

async function query(url: string, text: string): Promise<Client> {
  const client = new Client({ connectionString: url })
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

test('before PostgreSQL it is alive, unready with the reason, and ends at once; later it serves', async () => {
  const url = postgres.url('postgres')
  await postgres.stop()
  const [stopped, patient] = [await serve({ DATABASE_URL: url }), await serve({ DATABASE_URL: url })]
  const { port } = new URL(url)
  const reason = `waiting for the database: connect ECONNREFUSED 127.0.0.1:${port}`
  await expect.poll(() => stopped.readiness(), WAIT).toEqual({ status: 503, text: reason })
  stopped.signal('SIGTERM')
  expect(await stopped.exited).toBe('exit code 0')

  await expect.poll(() => patient.readiness(), WAIT).toEqual({ status: 503, text: reason })
  await postgres.start()
  await expect.poll(() => patient.readiness(), WAIT).toEqual({ status: 200, text: 'ready' })
})

test('while another replica migrates it is unready, and says so', async () => {
  const url = await emptyDatabase()
  const other = await query(url, 'select pg_advisory_lock(7351001)')
  const billing = await serve({ DATABASE_URL: url })
  await expect.poll(() => billing.readiness(), WAIT).toEqual({ status: 503, text: 'migrating' })
  await other.query('select pg_advisory_unlock(7351001)')
  await expect.poll(() => billing.readiness(), WAIT).toEqual({ status: 200, text: 'ready' })
})

describe('MIGRATE=only', () => {
  test('migrates and ends, also twice at once and again, and needs nothing but the owner', async () => {
    const url = await emptyDatabase()
    const migrate = async () => await start({ MIGRATE: 'only', DATABASE_OWNER_URL: url })
    const both = [await migrate(), await migrate()]
    expect(await Promise.all(both.map(({ exited }) => exited))).toEqual(['exit code 0', 'exit code 0'])
    expect(both.filter(({ logs }) => logs().includes('"migrated"'))).toHaveLength(1)
    expect(await (await migrate()).exited).toBe('exit code 0')
  })

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

describe('MIGRATE=never', () => {
  test('serves the catalog of the database, without the login of the owner and without a catalog file', async () => {
    const owner = await emptyDatabase()
    const migrating = await start({ MIGRATE: 'only', DATABASE_OWNER_URL: owner })
    expect(await migrating.exited).toBe('exit code 0')
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

  test('ends with 1 and one sentence on a database without the schema', async () => {
    const url = await emptyDatabase()
    await query(url, 'select')
    const billing = await serve({ MIGRATE: 'never', DATABASE_URL: url })
    expect(await billing.exited).toBe('exit code 1')
    expect(billing.logs()).toMatch(
      /^billing: wrong configuration: MIGRATE is never, and the database lacks 0001-accounts\.sql.* of this version: run billing with MIGRATE=only first$/m,
    )
  })
})
