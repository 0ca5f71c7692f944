import type { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { settlementStreamKey } from '#libs/queue-redis/keys.ts'
import { createPostgres, type TestPostgres } from '../../../support/postgres.ts'
import { createRedis, type TestRedis } from '../../../support/redis.ts'
import {
  CHAT,
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

const WAIT = { interval: 20 }
const MODELS = Array.from({ length: 1_000 }, (_, index) => `idle-${index}`)
const NEVER_MS = 3_600_000

// The test has a PostgreSQL server of its own, because all databases of a server share the write-ahead log.
let postgres: TestPostgres
let server: TestRedis
let redis: Redis
let database: BillingDatabase
let replicas: SettlementReplica[]

beforeAll(async () => {
  // These settings leave billing as the only writer.
  postgres = await createPostgres({ autovacuum: 'off', bgwriter_lru_maxpages: '0' })
  server = await createRedis()
  redis = connect(server.url)
})
beforeEach(async () => {
  await redis.flushall()
  database = await openBillingDatabase({ url: postgres.url('postgres') })
  replicas = []
})
afterEach(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()))
  await database.close()
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
  await postgres.stop()
})

test('a thousand idle models cost no write-ahead log, and a hold of one of them expires all the same', async () => {
  const replica = start({ idleSweepEveryMs: 200 })
  await expect.poll(countWatermarks, WAIT).toBe(1_000)
  await rounds(replica, 3)
  const before = await walPosition()
  // The replica reads every stream four times.
  await rounds(replica, 4)
  const written = Number((await walPosition()) - before)
  console.log(`four looks at each of 1,000 idle streams wrote ${written} B of write-ahead log`)
  // PostgreSQL itself sometimes writes a snapshot of the running transactions, which is about 50 B.
  expect(written).toBeLessThan(512)

  const { accountId, keyId } = await database.createAccount(1_000n)
  const longAgo = Date.now() - 24 * 3_600_000
  await database.loadModels([{ ...CHAT, id: 'idle-7' }])
  const call = reserveCall(keyId, { model: 'idle-7', deadlineMs: longAgo })
  expect(only(await database.money.reserve([call])).status).toBe('granted')
  await expect.poll(async () => (await database.balance(accountId)).held, WAIT).toBe(0n)
  const { rows } = await database.pool.query('select state from reservations')
  expect(rows).toEqual([{ state: 'expired' }])
})

test('a batch that is not full waits for more, which are committed with it', async () => {
  const { accountId, keyId } = await database.createAccount(100_000n)
  const ids = await hold(keyId, 4)
  const replica = start({ gatherMs: 2_000 })
  await addSettlement(redis, 'idle-0', settlement(ids[0] ?? ''))
  await expect.poll(pendingCount, WAIT).toBe(1)
  for (const id of ids.slice(1)) await addSettlement(redis, 'idle-0', settlement(id))
  await expect.poll(async () => (await database.balance(accountId)).held, WAIT).toBe(0n)
  await expect.poll(() => replica.commits(), WAIT).toEqual([4])
})

test('a full batch is committed at once', async () => {
  const { accountId, keyId } = await database.createAccount(100_000n)
  const ids = await hold(keyId, 64)
  for (const id of ids) await addSettlement(redis, 'idle-0', settlement(id))
  const replica = start({ gatherMs: NEVER_MS })
  await expect.poll(async () => (await database.balance(accountId)).held, WAIT).toBe(0n)
  await expect.poll(() => replica.commits(), WAIT).toEqual([64])
})

test('a replica that stops commits what it has gathered without waiting for more', async () => {
  const { accountId, keyId } = await database.createAccount(100_000n)
  const [id = ''] = await hold(keyId, 1)
  const replica = start({ gatherMs: NEVER_MS })
  await addSettlement(redis, 'idle-0', settlement(id))
  await expect.poll(pendingCount, WAIT).toBe(1)
  replicas = []
  await replica.stop()
  expect(await database.balance(accountId)).toMatchObject({ held: 0n, openHolds: 0 })
  expect(await pendingCount()).toBe(0)
})

function start(options: { gatherMs?: number; idleSweepEveryMs?: number }): SettlementReplica {
  const place = { mode: 'single', url: server.url } as const
  const replica = startReplica({ database, redis: place, models: () => MODELS, ...options })
  replicas.push(replica)
  return replica
}

async function hold(keyId: string, count: number): Promise<string[]> {
  const calls = Array.from({ length: count }, () => reserveCall(keyId))
  await database.money.reserve(calls)
  return calls.map(({ reservationId }) => reservationId)
}

/** Waits until every stream was read this many more times. */
async function rounds(replica: SettlementReplica, count: number): Promise<void> {
  const least = () => Math.min(...MODELS.map(replica.looks))
  const before = least()
  await expect.poll(least, WAIT).toBeGreaterThanOrEqual(before + count)
}

async function countWatermarks(): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    'select count(watermark)::integer as count from settlement_watermarks',
  )
  return only(rows).count
}

async function walPosition(): Promise<bigint> {
  const { rows } = await database.pool.query<{ bytes: bigint }>(
    "select (pg_current_wal_lsn() - '0/0')::bigint as bytes",
  )
  return only(rows).bytes
}

async function pendingCount(): Promise<unknown> {
  try {
    return (await redis.xpending(settlementStreamKey('idle-0'), 'billing'))[0]
  } catch {
    return null
  }
}
