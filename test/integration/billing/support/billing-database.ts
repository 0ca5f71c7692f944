import { randomUUID } from 'node:crypto'
import type { ServerCredentials } from '@grpc/grpc-js'
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { Registry } from '@prometheus-io/client'
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
import { createOperator, type Operator } from './operator.ts'
import { findPgBouncer, startPooledServer } from './pooled-login.ts'

export const log = pino({ level: 'silent' })

export const START_MS = Date.parse('2030-01-01T00:00:00Z')

export const ADMIN_TOKEN = 'an-admin-token-of-the-tests'

/** The number of dead letters of each model. Only one test fills this map, and it empties the map again. */
export const deadLetters = new Map<string, number>()

/** Returns the live values of a replica that has observed one stream. */
export const live = () => ({
  replica: 'replica-1',
  watermarkAges: new Map([['chat', 400]]),
  moneyCallsWaiting: 0,
  deadLetters,
})

export const HOLD_GRACE_MS = 60_000
/** How many tokens of an account's failures are free in an hour. */
export const FREE_TOKENS = 500

const KEEP_MONTHS = 3

export const receipts = createReceipts(['a-receipt-secret-of-the-tests-alone'])

/**
 * A model with prices of whole nano-credits per token, so that amounts are easy to read. Cached tokens cost half as
 * much.
 */
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

/** A model with prices that leave fractions of a nano-credit. */
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
  /** The connections of the database's owner, with which tests read and damage tables. */
  pool: Pool
  /** The connections of the service's role. */
  servicePool: Pool
  money: Money
  /** The admin interface, called with the admin token. */
  operator: Operator
  admin: FastifyInstance
  /** The clock of everything above. */
  clock: { nowMs: number }
  /** Starts a server. With the `address` of a stopped server, the new server replaces it. */
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
  /** Rejects if the reconciliation finds a contradiction. */
  expectReconciled(): Promise<void>
  close(): Promise<void>
}

export type OpenDatabase = { url: string; pool: Pool; close(): Promise<void> }

/** Opens a new database without tables. */
export async function openEmptyDatabase(): Promise<OpenDatabase> {
  return await openDatabase(await createDatabase())
}

/**
 * Opens a new database with billing's tables. With a `url`, opens and migrates that existing database, which `close`
 * does not remove.
 */
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
 * With the value `transaction`, the service of every fixture works behind a separate PgBouncer, so that the whole suite
 * can be run in that way. A fixture with a URL that is for one login only does not.
 */
const POOLER_VARIABLE = 'MILLRACE_TEST_POOLER'

/** Opens the service's connections of a fixture. */
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
 * The fixture of billing's tests. Opens a new database (see `openMigratedDatabase`) with three models. All parts of
 * billing work on it, with a clock that the test sets.
 */
export async function openBillingDatabase(options: { url?: string } = {}): Promise<BillingDatabase> {
  const opened = await openMigratedDatabase(options.url)
  const { url, pool, close } = opened
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
  const money = createMoney({
    pool: servicePool,
    receipts,
    holdGraceMs: HOLD_GRACE_MS,
    freeTokensPerHour: FREE_TOKENS,
    nowMs,
  })

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

/** Returns the value of a list with one value. */
export function only<Value>(values: readonly Value[]): Value {
  const [value, ...others] = values
  if (value === undefined || others.length > 0) throw new Error(`expected one value, got ${values.length}`)
  return value
}
