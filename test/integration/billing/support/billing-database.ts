import { randomUUID } from 'node:crypto'
import type { ServerCredentials } from '@grpc/grpc-js'
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect } from 'vitest'
import { createAdminServer } from '#apps/billing/admin/serve-admin.ts'
import { loadCatalog } from '#apps/billing/catalog/load-catalog.ts'
import { migrate } from '#apps/billing/database/migrate.ts'
import { createMoney, type Money } from '#apps/billing/money/money.ts'
import { openPool, SERVICE_ROLE } from '#apps/billing/database/open-pool.ts'
import { toKysely } from '#apps/billing/database/to-kysely.ts'
import { watchVersions } from '#apps/billing/database/watch-versions.ts'
import type { Lane } from '#apps/billing/money/lanes/lane.ts'
import { createMoneyLane, type MoneyAnswer, type MoneyRequest } from '#apps/billing/money/lanes/money-lane.ts'
import { createMetrics } from '#apps/billing/metrics.ts'
import { createReceipts } from '#apps/billing/money/receipts.ts'
import { createReconcile } from '#apps/billing/books/reconcile.ts'
import { createLookUpLane } from '#apps/billing/money/lanes/look-up-lane.ts'
import { createBillingService } from '#apps/billing/service.ts'
import type { ReserveCall } from '#libs/billing-client/billing-calls.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { bindGrpc, closeGrpc } from '#libs/grpc/serve-grpc.ts'
import { createBillingDatabase } from '#test/support/billing-template.ts'
import { createDatabase, type TestDatabase } from '#test/support/postgres.ts'
import { choosePath, type MoneyPath } from './money-paths.ts'
import { createOperator, type Operator } from './operator.ts'
import { findPgBouncer, startPooledServer } from './pooled-login.ts'

export const log = pino({ level: 'silent' })

export const START_MS = Date.parse('2030-01-01T00:00:00Z')

export const ADMIN_TOKEN = 'an-admin-token-of-the-tests'

/** How many each model has, for the test that changes it; it empties it again. */
export const deadLetters = new Map<string, number>()

/** Of a replica that has observed one stream. */
export const live = () => ({
  replica: 'replica-1',
  watermarkAges: new Map([['chat', 400]]),
  moneyCallsWaiting: 0,
  deadLetters,
})

export const HOLD_GRACE_MS = 60_000

const KEEP_MONTHS = 3

export const receipts = createReceipts(['a-receipt-secret-of-the-tests-alone'])

/** Whole nano-credits per token, so that amounts are easy to read; cached tokens are half price. */
export const CHAT: ModelSpec = {
  id: 'chat',
  created: 1_700_000_000,
  ownedBy: 'test',
  kind: 'chat',
  contextWindow: 4_096,
  maxOutputTokens: 1_000,
  embedding: null,
  tools: true,
  reasoning: false,
  defaultEffort: 'off',
  inputPriceNano: '2000000',
  cachedInputPriceNano: '1000000',
  outputPriceNano: '10000000',
  fixedState: null,
  enabled: true,
}

/** Prices that leave fractions of a nano-credit. */
export const ODD: ModelSpec = {
  ...CHAT,
  id: 'odd',
  inputPriceNano: '333333',
  cachedInputPriceNano: '7',
  outputPriceNano: '1234567',
}

export const EMBED: ModelSpec = {
  ...CHAT,
  id: 'embed',
  kind: 'embedding',
  maxOutputTokens: 0,
  embedding: { dimensions: 256, matryoshka: true },
  outputPriceNano: '0',
}

/** One replica's gRPC service. */
export type BillingServer = { address: string; stop(): Promise<void> }

export type BillingDatabase = {
  url: string
  /** Of the database's owner: tests read and break tables with it. */
  pool: Pool
  /** Of the service's role. */
  servicePool: Pool
  money: Money
  /** The admin interface, called with the admin token. */
  operator: Operator
  admin: FastifyInstance
  /** The time of everything above. */
  clock: { nowMs: number }
  /** With the `address` of a stopped server the new one takes its place. */
  serve(options?: {
    address?: string
    credentials?: ServerCredentials
    lane?: Lane<MoneyRequest, MoneyAnswer>
    pollMs?: number
    connections?: { readonly ageMs: number; readonly graceMs: number }
    /** Called for each money call. */
    onCall?: () => void
  }): Promise<BillingServer>
  loadModels(models: readonly ModelSpec[]): Promise<void>
  createAccount(nano: bigint): Promise<{ accountId: string; keyId: string; secret: string }>
  balance(accountId: string): Promise<{ posted: bigint; held: bigint; openHolds: number }>
  /** Fails when the reconciliation finds a contradiction. */
  expectReconciled(): Promise<void>
  close(): Promise<void>
}

export type OpenDatabase = { url: string; pool: Pool; close(): Promise<void> }

/** A new database without tables. */
export async function openEmptyDatabase(): Promise<OpenDatabase> {
  return await openDatabase(await createDatabase())
}

/** A new database with billing's tables. With a `url` it is an existing one, which is migrated and not removed. */
async function openMigratedDatabase(given: string | undefined): Promise<OpenDatabase> {
  if (given === undefined) return await openDatabase(await createBillingDatabase())
  const database = await openDatabase({ url: given, drop: () => Promise.resolve() })
  await migrate(database.pool, log)
  return database
}

async function openDatabase({ url, drop }: TestDatabase): Promise<OpenDatabase> {
  const pool = await openPool({ url, log, waitMs: 5_000 })
  return {
    url,
    pool,
    async close() {
      await pool.end()
      await drop()
    },
  }
}

/**
 * `transaction`: the service of every fixture works behind a PgBouncer of its own, so that the whole suite can be run
 * that way. Not where a URL was given that is for one login alone.
 */
const POOLER_VARIABLE = 'MILLRACE_TEST_POOLER'

/** The service's pool of a fixture. */
async function openService(database: OpenDatabase, canBePooled: boolean) {
  const { url, pool } = database
  const connecting = { role: SERVICE_ROLE, log, waitMs: 5_000 }
  if (process.env[POOLER_VARIABLE] !== 'transaction' || !canBePooled) {
    const servicePool = await openPool({ ...connecting, url })
    return { servicePool, close: () => servicePool.end() }
  }
  const program = await findPgBouncer()
  if (program === null) throw new Error(`${POOLER_VARIABLE} is set, and there is no PgBouncer`)
  const { login, pooler } = await startPooledServer(pool, { url, program })
  const servicePool = await openPool({
    ...connecting,
    url: pooler.through(login.url(url)),
    pooler: 'transaction',
  })
  return {
    servicePool,
    async close() {
      await servicePool.end()
      await pooler.stop()
      await login.drop()
    },
  }
}

/**
 * The fixture of billing's tests: a new database (see `openMigratedDatabase`) gets three models. All
 * parts of billing work on it, with a clock that the test sets. `path`: which way single money calls take; default: single.
 */
export async function openBillingDatabase(
  options: { url?: string; path?: MoneyPath } = {},
): Promise<BillingDatabase> {
  const opened = await openMigratedDatabase(options.url)
  const { url, pool, close } = opened
  await choosePath(pool, options.path ?? 'single')
  const { username, search } = new URL(url)
  const service = await openService(opened, username === 'millrace' && search === '')
  const { servicePool } = service
  const clock = { nowMs: START_MS }
  const nowMs = () => clock.nowMs
  const admin = createAdminServer({
    keepAliveTimeoutMs: 72_000,
    db: toKysely(servicePool),
    reconcile: createReconcile(servicePool),
    adminToken: ADMIN_TOKEN,
    keepMonths: KEEP_MONTHS,
    live,
    nowMs,
    log,
  })
  const operator = createOperator(admin, ADMIN_TOKEN)

  async function loadModels(models: readonly ModelSpec[]) {
    await loadCatalog({ pool: servicePool, models, nowMs: clock.nowMs, log })
  }
  await loadModels([CHAT, ODD, EMBED])
  const money = createMoney({ pool: servicePool, receipts, holdGraceMs: HOLD_GRACE_MS, nowMs })

  return {
    url,
    pool,
    servicePool,
    money,
    operator,
    admin,
    clock,
    async serve({ address = '127.0.0.1:0', credentials, pollMs = 60_000, ...given } = {}) {
      const metrics = createMetrics(new Registry(), () => 0)
      const monotonicMs = () => performance.now()
      const own = given.lane ?? createMoneyLane({ money, log, monotonicMs, onBatch: () => undefined })
      const lane = {
        ...own,
        submit: async (request: MoneyRequest) => {
          given.onCall?.()
          return await own.submit(request)
        },
      }
      const versions = watchVersions({ url, pool: servicePool, log, pollMs })
      const { server, endStreams } = createBillingService({
        pool: servicePool,
        callersDb: toKysely(servicePool),
        lane,
        lookUps: createLookUpLane({ pool: servicePool, nowMs, monotonicMs: () => performance.now() }),
        versions,
        metrics,
        nowMs,
        log,
        ...(given.connections === undefined ? {} : { connections: given.connections }),
      })
      const port = await bindGrpc(server, address, credentials)
      return {
        address: `127.0.0.1:${port}`,
        async stop() {
          endStreams()
          await closeGrpc(server, 2_000)
          await versions.close()
        },
      }
    },
    loadModels,
    async createAccount(nano) {
      const accountId = await operator.createAccount()
      if (nano > 0n) await operator.topUp(accountId, { nano, idempotencyKey: 'first' })
      return { accountId, ...(await operator.createKey(accountId)) }
    },
    balance: operator.balance,
    async expectReconciled() {
      const counts = await operator.reconcile()
      expect(counts.length).toBeGreaterThan(8)
      expect(counts.filter(({ rows }) => rows !== 0)).toEqual([])
    },
    async close() {
      await admin.close()
      await service.close()
      await close()
    },
  }
}

export function reserveCall(keyId: string, fields: Partial<ReserveCall> = {}): ReserveCall {
  return {
    reservationId: randomUUID(),
    keyId,
    model: 'chat',
    inputTokens: 100,
    outputTokens: 50,
    deadlineMs: START_MS + 600_000,
    ...fields,
  }
}

export function settlement(id: string, fields: Partial<Settlement> = {}): Settlement {
  return {
    id,
    epoch: 1,
    outcome: 'completed',
    promptTokens: 100,
    cachedTokens: 0,
    completionTokens: 50,
    by: 'worker-1',
    ...fields,
  }
}

/** Makes the model's stream count as settled until `untilMs`. */
export async function setWatermark(database: BillingDatabase, model: string, untilMs: number): Promise<void> {
  await database.money.noteObservations(
    [
      {
        model,
        runId: 'run-1',
        observedAtMs: untilMs,
        lastId: { ms: 1n, seq: 0n },
        settledUntilMs: untilMs,
        confirmedMs: null,
      },
    ],
    60_000,
  )
}

/** The value of a list of one. */
export function only<Value>(values: readonly Value[]): Value {
  const [value, ...others] = values
  if (value === undefined || others.length > 0) throw new Error(`expected one value, got ${values.length}`)
  return value
}
