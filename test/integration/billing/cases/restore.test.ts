import type { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ReserveCall } from '#libs/billing-client/billing-calls.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { createRedis, type TestRedis } from '../../../support/redis.ts'
import { createRestorablePostgres, type RestorablePostgres } from '../../../support/restorable-postgres.ts'
import {
  HOLD_GRACE_MS,
  only,
  openBillingDatabase,
  reserveCall,
  settlement,
  type BillingDatabase,
} from '../support/billing-database.ts'
import {
  addSettlement,
  connect,
  startReplica,
  type SettlementReplica,
} from '../support/settlement-replica.ts'

const WAIT = { interval: 50 }

const CREDITS = 1_000_000n
/** A hold expires when its stream has certainly been read up to 30 s after its deadline and grace period. */
const EXPIRY_MS = HOLD_GRACE_MS + 30_000

let postgres: RestorablePostgres
let server: TestRedis
let redis: Redis
let database: BillingDatabase
let replicas: SettlementReplica[]
/** The expected charge of each settled reservation. */
let truth: Map<string, bigint>
let account: { accountId: string; keyId: string }

beforeEach(async () => {
  postgres = await createRestorablePostgres()
  server = await createRedis()
  redis = connect(server.url)
  database = await openBillingDatabase({ url: postgres.url })
  replicas = []
  truth = new Map()
  account = await database.createAccount(CREDITS)
})
afterEach(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()))
  redis.disconnect()
  await database.close()
  await Promise.all([postgres.stop(), server.stop()])
})

test(
  'after a restore to a point in the past the settlements since then are read again, and charges are the truth',
  // The test starts PostgreSQL twice and reads 301 settlements again: 50 s if five processes compete for each core.
  { timeout: 300_000 },
  async () => {
    const early = startReplica({ database, redis: { mode: 'single', url: server.url } })
    replicas = [early]
    await settle(await hold(), 700n)
    await postgres.backUp()
    await settle(await hold({ model: 'embed', outputTokens: 0 }), 200n, { completionTokens: 0 })
    await expect.poll(charges, WAIT).toEqual(truth)
    await early.stop()
    // These holds expire when billing has read the settlements of the next seconds.
    const deadlineMs = Date.now() - EXPIRY_MS + 3_000
    const overdue = await hold({ deadlineMs })
    const released = await hold({ deadlineMs })
    const grown = await hold()
    await postgres.markPoint('past')

    expect(await database.money.release([released.id])).toEqual([true])
    const growth = only(await database.money.resize([{ reservationId: grown.id, outputTokens: 100 }]))
    if (growth.status !== 'granted') throw new Error(growth.status)
    await database.operator.topUp(account.accountId, { nano: 5_000n, idempotencyKey: 'since' })
    const unsettled = await hold()
    await settle(overdue, 700n)
    const late = startReplica({ database, redis: { mode: 'single', url: server.url } })
    replicas = [late]
    await settle({ ...grown, receipt: growth.receipt }, 1_200n, { completionTokens: 100 })
    for (let count = 0; count < 300; count += 1) await settle(await hold(), 250n, { completionTokens: 5 })
    await expect.poll(charges, WAIT).toEqual(truth)
    const before = await database.balance(account.accountId)

    await postgres.destroyAndRestore('past')
    // The restored database lacks the later top-up. Its idempotency key makes repeating it safe.
    await expect
      .poll(
        () =>
          database.operator
            .topUp(account.accountId, { nano: 5_000n, idempotencyKey: 'since' })
            .then(() => 'done')
            .catch(String),
        WAIT,
      )
      .toBe('done')
    await settle(unsettled, 700n)
    await expect.poll(charges, WAIT).toEqual(truth)

    // The restored database has lost the release of this hold, so the hold expires, after everything was read again.
    await expect.poll(() => state(released.id), WAIT).toBe('expired')
    const after = await database.balance(account.accountId)
    expect(after).toEqual({ posted: before.posted - 700n, held: 0n, openHolds: 0 })
    const { rows } = await database.pool.query(
      'select kind, count(*)::int from settlement_alarms group by kind',
    )
    expect(rows).toEqual([])
    const recovered = await database.pool.query<{ count: bigint }>('select count(*) from usage where late')
    expect(recovered.rows).toEqual([{ count: 301n }])
    await database.expectReconciled()
    const questions = await database.pool.query<{ count: bigint }>('select * from reconcile(whole => true)')
    expect(questions.rows.filter(({ count }) => count !== 0n)).toEqual([])
  },
)

type Hold = { id: string; model: string; receipt: string }

async function hold(fields: Partial<ReserveCall> = {}): Promise<Hold> {
  const call = reserveCall(account.keyId, fields)
  const answer = only(await database.money.reserve([call]))
  if (answer.status !== 'granted') throw new Error(`expected a hold, got ${answer.status}`)
  return { id: call.reservationId, model: call.model, receipt: answer.receipt }
}

/** Sends a settlement and notes its expected charge in `truth`. */
async function settle({ id, model, receipt }: Hold, costNano: bigint, fields: Partial<Settlement> = {}) {
  await addSettlement(redis, model, settlement(id, { receipt, ...fields }))
  truth.set(id, costNano)
}

async function charges(): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await database.pool
    .query<{ reservation_id: string; charged: bigint }>('select reservation_id, charged from usage')
    .catch(() => ({ rows: [] }))
  return new Map(rows.map((row) => [row.reservation_id, row.charged]))
}

async function state(id: string): Promise<string | undefined> {
  const { rows } = await database.pool.query<{ state: string }>(
    'select state from reservations where id = $1',
    [id],
  )
  return rows[0]?.state
}
