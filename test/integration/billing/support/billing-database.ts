import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { expect } from 'vitest'
import { createAdminServer } from '#apps/billing/admin/serve-admin.ts'
import { loadCatalog } from '#apps/billing/catalog/load-catalog.ts'
import { migrate } from '#apps/billing/database/migrate.ts'
import { createMoney, type Money } from '#apps/billing/database/money.ts'
import { openPool, SERVICE_ROLE } from '#apps/billing/database/open-pool.ts'
import { toKysely } from '#apps/billing/database/tables.ts'
import { createReceipts } from '#apps/billing/receipts.ts'
import { createReconcile } from '#apps/billing/reconciliation/reconcile.ts'
import type { ReserveCall } from '#libs/billing-client/billing-calls.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { createDatabase } from '../../../support/postgres.ts'
import { createOperator, type Operator } from './operator.ts'

export const log = pino({ level: 'silent' })

export const START_MS = Date.parse('2030-01-01T00:00:00Z')

export const ADMIN_TOKEN = 'an-admin-token-of-the-tests'

export const HOLD_GRACE_MS = 60_000

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

export type BillingDatabase = {
  url: string
  /** The owner's, for what a test looks at and breaks. */
  pool: Pool
  /** The service's: it may do what the service may. */
  servicePool: Pool
  money: Money
  /** The owner, at the operators' interface. */
  operator: Operator
  admin: FastifyInstance
  clock: { nowMs: number }
  loadModels(models: readonly ModelSpec[]): Promise<void>
  createAccount(nano: bigint): Promise<{ accountId: string; keyId: string; secret: string }>
  balance(accountId: string): Promise<{ posted: bigint; held: bigint; openHolds: number }>
  /** Fails when any question of the reconciliation counts something. */
  expectReconciled(): Promise<void>
  close(): Promise<void>
}

/**
 * A migrated database with the three models, its functions, and a clock that the test turns: one of its own, or the
 * empty one at `url`, which is the test's to remove.
 */
export async function openBillingDatabase(options: { url?: string } = {}): Promise<BillingDatabase> {
  const { url, drop } =
    options.url === undefined ? await createDatabase() : { url: options.url, drop: () => Promise.resolve() }
  const pool = await openPool({ url, log, waitMs: 5_000 })
  await migrate(pool, log)
  const servicePool = await openPool({ url, role: SERVICE_ROLE, log, waitMs: 5_000 })
  const clock = { nowMs: START_MS }
  const nowMs = () => clock.nowMs
  const admin = createAdminServer({
    db: toKysely(servicePool),
    reconcile: createReconcile(servicePool),
    adminToken: ADMIN_TOKEN,
    nowMs,
    log,
  })
  const operator = createOperator(admin, ADMIN_TOKEN)

  async function loadModels(models: readonly ModelSpec[]) {
    await loadCatalog({ pool: servicePool, models, nowMs: clock.nowMs, log })
  }
  await loadModels([CHAT, ODD, EMBED])

  return {
    url,
    pool,
    servicePool,
    money: createMoney({ pool: servicePool, receipts, holdGraceMs: HOLD_GRACE_MS, nowMs }),
    operator,
    admin,
    clock,
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
      await Promise.all([pool.end(), servicePool.end()])
      await drop()
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

/** Says that the model's stream is settled for certain until `untilMs`. */
export async function setWatermark(database: BillingDatabase, model: string, untilMs: number): Promise<void> {
  await database.money.advanceWatermarks(
    {
      runId: 'run-1',
      observedAtMs: untilMs,
      streams: [{ model, lastId: { ms: 1n, seq: 0n }, settledUntilMs: untilMs, confirmedMs: null }],
    },
    60_000,
  )
}

/** The only answer to the only call. */
export function only<Value>(values: readonly Value[]): Value {
  const [value, ...others] = values
  if (value === undefined || others.length > 0) throw new Error(`expected one value, got ${values.length}`)
  return value
}
