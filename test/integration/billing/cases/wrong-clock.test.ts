import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { Registry } from '@prometheus-io/client'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createMetrics } from '#apps/billing/metrics.ts'
import { checkBooks } from '#apps/billing/books/check-books.ts'
import { createAdminClient } from '#libs/admin-contract/admin-client.ts'
import { createBillingDatabase } from '#test/support/billing-template.ts'
import { createAccountCalls } from '#test/support/cluster.ts'
import { createRedis, type TestRedis } from '#test/support/redis.ts'
import { createSteppedClock } from '#test/support/stepped-clock.ts'
import { openPool } from '#apps/billing/database/open-pool.ts'
import { log, openBillingDatabase, reserveCall, settlement } from '../support/billing-database.ts'
import { billingEnvironment, startBilling } from '../support/billing-process.ts'
import { createPatientClient } from '../support/patient-client.ts'

const DAY_MS = 86_400_000

let redis: TestRedis

beforeAll(async () => {
  redis = await createRedis()
})
afterAll(() => redis.stop())

async function openDatabase(): Promise<{ url: string; pool: Pool }> {
  const { url, drop } = await createBillingDatabase()
  const pool = await openPool({ url, log, waitMs: 5_000 })
  onTestFinished(async () => {
    await pool.end()
    await drop()
  })
  return { url, pool }
}

/** Starts a replica whose machine's clock is ahead by `aheadMs`. Resolves when it is ready. */
async function startReplica(url: string, aheadMs: number) {
  const env = await billingEnvironment({
    DATABASE_URL: url,
    QUEUE_REDIS_URL: redis.url,
    // Each database is a cell of its own.
    CELL: `c${randomUUID()}`,
    CATALOG_FILE: 'deploy/catalog.demo.json',
    ...createSteppedClock(aheadMs).env,
  })
  const billing = await startBilling(env)
  onTestFinished(() => billing.kill())
  await expect.poll(() => billing.readiness()).toMatchObject({ status: 200 })
  const client = createPatientClient({ address: env['GRPC_LISTEN'] ?? '' })
  onTestFinished(() => client.close())
  const admin = createAdminClient({
    url: `http://127.0.0.1:${env['ADMIN_PORT']}`,
    token: env['ADMIN_TOKEN'] ?? '',
  })
  return { billing, client, admin }
}

test.each([40, -40])(
  'a replica that is %d days ahead writes the dates of PostgreSQL, and serves as the others do',
  async (days) => {
    const { url, pool } = await openDatabase()
    const { billing, client, admin } = await startReplica(url, days * DAY_MS)

    const models = Promise.withResolvers<readonly string[]>()
    client.watchCatalog({ onCatalog: (catalog) => models.resolve(catalog.map(({ id }) => id)), onState() {} })
    expect(await models.promise).toContain('demo-chat')
    const { createAccount } = createAccountCalls(admin)
    const account = await createAccount('1')
    const call = reserveCall(account.keyId, { model: 'demo-chat', deadlineMs: Date.now() + 600_000 })
    expect(await client.reserve(call)).toMatchObject({ status: 'granted' })

    // The first check of the books has ended when the seal exists, because sealing is its last part.
    const seals = async () =>
      (await pool.query<{ count: number }>('select count(*)::int from ledger_seals')).rows[0]?.count
    await expect.poll(seals).toBe(1)
    // The first entry after the seal has a number of the new month.
    await createAccount('1')
    const { rows } = await pool.query(`
      select
        (select count(*)::int from reconciliation_runs where at between now() - interval '10 minutes' and now()) as runs,
        (select max(day) = (now() at time zone 'UTC')::date from ledger_seals) as sealed_today,
        (select max(seq) / 1000000000000 = to_char(now() at time zone 'UTC', 'YYYYMM')::bigint from ledger) as numbered,
        (select bool_and(effective_from <= now()) from price_versions) as priced,
        (select bool_and(created_at between now() - interval '10 minutes' and now()) from accounts) as dated`)
    expect(rows).toEqual([{ runs: 1, sealed_today: true, numbered: true, priced: true, dated: true }])
    expect(billing.logs()).toContain("this machine's clock differs from PostgreSQL's")
  },
)

test('a clock that was ahead spoils its own round: the next ones are not taken for done, and it is an alarm', async () => {
  const database = await openBillingDatabase()
  onTestFinished(() => database.close())
  const { keyId } = await database.createAccount(10_000n)
  const spend = async () => {
    const call = reserveCall(keyId, { deadlineMs: database.clock.nowMs + 600_000 })
    await database.money.reserve([call])
    await database.money.settle([settlement(call.reservationId)])
  }
  await spend()
  const inJanuaryMs = database.clock.nowMs
  const registry = new Registry()
  const countSeals = async () =>
    (await database.pool.query<{ count: number }>('select count(*)::int from ledger_seals')).rows[0]?.count
  const start = () =>
    checkBooks({
      pool: database.servicePool,
      everyMs: 900_000,
      checkMs: 10,
      readNowMs: async () => database.clock.nowMs,
      metrics: createMetrics(registry, () => 0),
      log,
    })
  const metric = async (name: string) =>
    Number(
      new RegExp(`^millrace_billing_${RegExp.escape(name)} (.+)$`, 'm').exec(await registry.metrics())?.[1],
    )

  // The clock is in March for one round.
  database.clock.nowMs += 70 * 86_400_000
  const stopAhead = start()
  await expect.poll(countSeals).toBe(1)
  await expect
    .poll(async () => await metric('reconciled_timestamp_seconds'))
    .toBe(database.clock.nowMs / 1_000)
  await stopAhead()
  registry.clear()

  database.clock.nowMs = inJanuaryMs + 60_000
  await spend()
  const stop = start()
  await expect
    .poll(async () => await metric('reconciled_timestamp_seconds'))
    .toBe((inJanuaryMs + 60_000) / 1_000)
  // The three rows are the run, the seal and the numbers of March.
  expect(await metric('reconciliation_rows{question="dated-in-the-future"}')).toBe(3)
  database.clock.nowMs += 900_000
  await expect
    .poll(async () => await metric('reconciled_timestamp_seconds'))
    .toBe((inJanuaryMs + 960_000) / 1_000)

  // Later, that day comes.
  database.clock.nowMs = inJanuaryMs + 71 * 86_400_000
  await expect.poll(async () => await metric('reconciliation_rows{question="dated-in-the-future"}')).toBe(0)
  await expect.poll(countSeals).toBe(2)
  await stop()
})
