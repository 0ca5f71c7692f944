import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { checkPooled } from '#apps/billing/database/pooler.ts'
import { createMoney } from '#apps/billing/money/money.ts'
import { openPool, SERVICE_ROLE } from '#apps/billing/database/open-pool.ts'
import { watchReadiness } from '#apps/billing/database/watch-readiness.ts'
import { watchVersions } from '#apps/billing/database/watch-versions.ts'
import { startPgBouncer, type TestPgBouncer } from '../../../support/pgbouncer.ts'
import { createRedis } from '../../../support/redis.ts'
import {
  FREE_TOKENS,
  HOLD_GRACE_MS,
  log,
  only,
  openBillingDatabase,
  receipts,
  reserveCall,
  settlement,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { billingEnvironment, startBilling } from '../support/billing-process.ts'
import { createPooledLogin, findPgBouncer, type PooledLogin } from '../support/pooled-login.ts'

// Tests billing behind a real PgBouncer in transaction mode, which has fewer connections to PostgreSQL than billing
// opens to PgBouncer.

const WAIT = { interval: 50 }

const program = await findPgBouncer()

describe.skipIf(program === null)('behind PgBouncer', () => {
  let database: BillingDatabase
  const logins: Record<string, PooledLogin> = {}
  let pooler: TestPgBouncer

  const start = async (settings: Readonly<Record<string, string>>) => {
    if (program === null) throw new Error('there is no PgBouncer')
    const passwords = Object.values(logins).map(({ name, password }) => [name, password])
    return await startPgBouncer({
      program,
      postgresUrl: database.url,
      logins: Object.fromEntries(passwords),
      settings,
    })
  }

  beforeAll(async () => {
    database = await openBillingDatabase()
    const make = async (name: string, settings: Parameters<typeof createPooledLogin>[1]) => {
      logins[name] = await createPooledLogin(database.pool, settings)
    }
    await make('good', {})
    await make('own rights', { role: null })
    await make('no limit', { statement_timeout: null })
    await make('high limit', { statement_timeout: '1min' })
    await make('idle', { idle_in_transaction_session_timeout: '0' })
    await make('jit', { jit: null })
    await make('zone', { timezone: 'Pacific/Chatham' })
    await make('schema', { search_path: 'elsewhere' })
    await make('policies', { row_security: null })
    await make('isolation', { default_transaction_isolation: 'serializable' })
    await make('commit', { synchronous_commit: 'off' })
    pooler = await start({ default_pool_size: '2' })
  })
  afterAll(async () => {
    await pooler.stop()
    await Promise.all(Object.values(logins).map((login) => login.drop()))
    await database.close()
  })

  const loginOf = (name: string) => only([logins[name]].filter((login) => login !== undefined))
  const open = async (login: string, through = pooler) => {
    const url = through.through(loginOf(login).url(database.url))
    const pool = await openPool({ url, role: SERVICE_ROLE, pooler: 'transaction', log, waitMs: 5_000 })
    onTestFinished(() => pool.end())
    return pool
  }

  test('two replicas move money at once over two connections, and the books agree', async () => {
    const nowMs = () => database.clock.nowMs
    const replicas = await Promise.all(
      ['good', 'good'].map(async (login) =>
        createMoney({
          pool: await open(login),
          receipts,
          holdGraceMs: HOLD_GRACE_MS,
          freeTokensPerHour: FREE_TOKENS,
          nowMs,
        }),
      ),
    )
    const { accountId, keyId } = await database.createAccount(1_000_000n)
    const calls = Array.from({ length: 60 }, () => reserveCall(keyId))
    await Promise.all(
      calls.map(async (call, index) => {
        const [first, second] = index % 2 === 0 ? replicas : replicas.toReversed()
        expect(await first?.reserve([call])).toMatchObject([{ status: 'granted' }])
        expect(await second?.settle([settlement(call.reservationId)])).toMatchObject([{ result: 'charged' }])
      }),
    )
    expect(await database.balance(accountId)).toEqual({ posted: 958_000n, held: 0n, openHolds: 0 })
    await database.expectReconciled()
  })

  test.each([
    ['own rights', /works as pooled_\w+: alter role pooled_\w+ set role = millrace_service/],
    ['no limit', /statement_timeout is 0 ms, expected 1 to 5000: alter role/],
    ['high limit', /statement_timeout is 60000 ms, expected 1 to 5000: alter role/],
    ['idle', /idle_in_transaction_session_timeout is 0 ms, expected 1 to 5000: alter role/],
    ['jit', /jit is on: alter role pooled_\w+ set jit = off/],
    ['zone', /TimeZone is Pacific\/Chatham: alter role pooled_\w+ set TimeZone = UTC/],
    ['schema', /search_path is elsewhere: alter role pooled_\w+ set search_path = public/],
    ['policies', /row_security is on: alter role pooled_\w+ set row_security = off/],
    [
      'isolation',
      /default_transaction_isolation is serializable: alter role pooled_\w+ set default_transaction_isolation = 'read committed'/,
    ],
    ['commit', /synchronous_commit is off: alter role pooled_\w+ set synchronous_commit = on/],
  ])('a login with %s is refused, with the statement that mends it', async (login, problem) => {
    await expect(open(login)).rejects.toThrow(problem)
  })

  test('a pooler that passes named statements on is refused, for each further client too', async () => {
    const plain = await start({ max_prepared_statements: '0', default_pool_size: '1' })
    onTestFinished(() => plain.stop())
    const problem = 'PgBouncer 1.21 or later with max_prepared_statements above 0 is needed'
    await expect(open('good', plain)).rejects.toThrow(problem)
    await expect(open('good', plain)).rejects.toThrow(problem)
  })

  test('no pooler at all is refused where one was configured', async () => {
    const url = loginOf('good').url(database.url)
    const opening = openPool({ url, role: SERVICE_ROLE, pooler: 'transaction', log, waitMs: 0 })
    await expect(opening).rejects.toThrow('or DATABASE_POOLER=none where there is no pooler')
  })

  test('a pooler that was not configured is refused, also one that drops the settings silently', async () => {
    const openPlain = (through: TestPgBouncer, login: string) =>
      openPool({
        url: through.through(loginOf(login).url(database.url)),
        role: SERVICE_ROLE,
        log,
        waitMs: 60_000,
      })
    await expect(openPlain(pooler, 'good')).rejects.toThrow(
      /unsupported startup parameter.*: set DATABASE_POOLER=transaction/,
    )
    const dropped = 'statement_timeout,idle_in_transaction_session_timeout,options'
    const silent = await start({ ignore_startup_parameters: dropped })
    onTestFinished(() => silent.stop())
    await expect(openPlain(silent, 'own rights')).rejects.toThrow(
      /works as pooled_\w+, not as millrace_service: behind a pooler set DATABASE_POOLER=transaction/,
    )
  })

  test('a login that loses its role makes the replica unready, with the reason, until it has it again', async () => {
    const { name } = loginOf('good')
    const fresh = await start({ server_lifetime: '1', server_idle_timeout: '1' })
    onTestFinished(() => fresh.stop())
    const pool = await open('good', fresh)
    const pooled = { role: SERVICE_ROLE, statementMs: 5_000, idleMs: 5_000 }
    const watch = watchReadiness({ pool, pooled, writes: { problem: () => null }, everyMs: 50, log })
    onTestFinished(() => watch.stop())
    await database.pool.query(`alter role ${name} reset role`)
    const unready = { ready: false, reason: expect.stringContaining(`alter role ${name} set role`) }
    await expect.poll(watch.readiness, WAIT).toEqual(unready)
    await expect(checkPooled(pool, pooled)).rejects.toThrow('alter role')
    await database.pool.query(`alter role ${name} set role = millrace_service`)
    await expect.poll(watch.readiness, WAIT).toEqual({ ready: true })
  })

  test('a replica serves without a direct connection and without the login of the owner', async () => {
    const redis = await createRedis()
    onTestFinished(() => redis.stop())
    const billing = await startBilling(
      await billingEnvironment({
        QUEUE_REDIS_URL: redis.url,
        MIGRATE: 'never',
        DATABASE_POOLER: 'transaction',
        DATABASE_URL: pooler.through(loginOf('good').url(database.url)),
      }),
    )
    onTestFinished(() => billing.kill())
    await expect.poll(() => billing.readiness(), WAIT).toEqual({ status: 200, text: 'ready' })
    billing.signal('SIGTERM')
    expect(await billing.exited).toBe('exit code 0')
  })

  test.each([
    { how: 'by a notification over a direct connection', isDirect: true, pollMs: 600_000, listeners: 1 },
    { how: 'by looking where there is none', isDirect: false, pollMs: 50, listeners: 0 },
  ])('changes of other replicas are seen $how', async ({ isDirect, pollMs, listeners }) => {
    const { name, url } = loginOf('good')
    const pool = await open('good')
    const versions = watchVersions({ url: isDirect ? url(database.url) : null, pool, log, pollMs })
    onTestFinished(() => versions.close())
    let changes = 0
    versions.subscribe('keys', () => (changes += 1))
    const listening = async () => {
      const { rows } = await database.pool.query(
        "select from pg_stat_activity where usename = $1 and query = 'listen millrace_catalog'",
        [name],
      )
      return rows.length
    }
    await expect.poll(() => changes, WAIT).toBe(1)
    await expect.poll(listening, WAIT).toBe(listeners)
    await database.createAccount(0n)
    await expect.poll(() => changes, WAIT).toBeGreaterThan(1)
  })
})
