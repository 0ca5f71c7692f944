import type { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { createSettlementStreams } from '#apps/billing/settlements/settlement-streams.ts'
import { createGenerationRecord } from '#libs/generation-record/generation-record.ts'
import { settlementMarkKey, settlementStreamKey } from '#libs/generation-record/keys.ts'
import { createRedis, type TestRedis } from '../../../support/redis.ts'
import {
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
/** The number of models that a replica reads: `chat`, `embed` and `odd`. */
const MODELS = 3
const NEVER_MS = 3_600_000

let server: TestRedis
let redis: Redis
let database: BillingDatabase
let replicas: SettlementReplica[]
let account: { accountId: string; keyId: string }

beforeAll(async () => {
  server = await createRedis()
  redis = connect(server.url)
})
beforeEach(async () => {
  await redis.flushall()
  database = await openBillingDatabase()
  account = await database.createAccount(10_000n)
  replicas = []
})
afterEach(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()))
  await database.expectReconciled()
  await database.close()
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

test('after a failed read a replica takes first what it had received: the reply may have been lost', async () => {
  await settleAndGiveTo('replica-1')
  start({ claimIdleMs: NEVER_MS, consumer: 'replica-1' })
  await expect.poll(watermarkOfOther, WAIT).not.toBeNull()
  expect(await pendingCount()).toBe(1)
  await refuseReads()
  await redis.acl('SETUSER', 'default', '+xreadgroup')
  await expect.poll(posted, WAIT).toBe(9_300n)
  await expect.poll(pendingCount, WAIT).toBe(0)
})

test('a stream whose group was lost while it could not be read is read again', async () => {
  const id = await hold()
  start({ claimIdleMs: NEVER_MS })
  await expect.poll(watermarkOfOther, WAIT).not.toBeNull()
  await refuseReads()
  // The consumer group is gone, as after a failover to a replica without the group.
  await redis.flushall()
  await redis.acl('SETUSER', 'default', '+xreadgroup')
  await addSettlement(redis, 'chat', settlement(id))
  await expect.poll(posted, WAIT).toBe(9_300n)
})

test('a stream whose group was lost while its entries were being claimed is read again', async () => {
  const consumer = createSettlementStreams({ redis, consumer: 'replica-1' })
  await consumer.readNew(['chat'], 10)
  await redis.flushall()
  expect(await consumer.claim('chat', { start: '0-0', minIdleMs: 0, count: 10 })).toEqual({
    entries: [],
    next: null,
  })
})

test('the memory of Redis may be full: settlements are taken all the same, also by a new replica', async () => {
  start()
  await expect.poll(watermarkOfOther, WAIT).not.toBeNull()
  const ids = [await hold(), await hold()]
  for (const id of ids) await addSettlement(redis, 'chat', settlement(id))
  await redis.config('SET', 'maxmemory', '1')
  await expect(redis.set('anything', 1)).rejects.toThrow('OOM')
  start()
  await expect.poll(posted, WAIT).toBe(8_600n)
  await expect.poll(pendingCount, WAIT).toBe(0)
  await redis.config('SET', 'maxmemory', '0')
})

test('the mark of a model says what is committed: nothing after its oldest pending entry', async () => {
  const record = createGenerationRecord({ redis, self: 'gateway-1', graceMs: 1_000 })
  const committedMs = async (model: string) => (await record.readMark(model)).committedMs
  const beforeMs = await record.redisTimeMs()
  await settleAndGiveTo('dead')
  const afterMs = await record.redisTimeMs()
  start({ claimIdleMs: NEVER_MS })
  await expect.poll(() => committedMs('odd'), WAIT).toBeGreaterThan(afterMs + 200)
  expect((await committedMs('chat')) ?? 0).toBeLessThanOrEqual(beforeMs)

  start({ claimIdleMs: 0 })
  await expect.poll(() => committedMs('chat'), WAIT).toBeGreaterThan(afterMs)
  expect(await posted()).toBe(9_300n)
})

test('a stream that is read again has no mark until it is committed again', async () => {
  const streams = createSettlementStreams({ redis, consumer: 'replica-1' })
  await streams.readNew(['chat'], 10)
  await streams.confirm('chat', { runId: 'run-1', recordedMs: 1_000, committedMs: 900 })
  await streams.confirm('chat', { runId: 'run-1', recordedMs: 2_000, committedMs: null })
  expect(await redis.get(settlementMarkKey('chat'))).toBe('run-1 900')
  expect(await streams.readAgain('chat', 1_000, 500)).toBe(false)
  expect(await redis.get(settlementMarkKey('chat'))).toBe('run-1 900')
  expect(await streams.readAgain('chat', 2_000, 500)).toBe(true)
  expect(await redis.get(settlementMarkKey('chat'))).toBeNull()
})

test('a server that is no master any more is not observed', async () => {
  const streams = createSettlementStreams({ redis, consumer: 'replica-1' })
  await streams.readNew(['chat'], 10)
  expect((await streams.observe('chat')).stream).not.toBeNull()
  await redis.replicaof('127.0.0.1', 1)
  await expect(streams.observe('chat')).rejects.toThrow('READONLY')
  await expect.poll(() => redis.replicaof('NO', 'ONE').catch(String), WAIT).toBe('OK')
})

function start(options: { claimIdleMs?: number; consumer?: string } = {}): void {
  replicas.push(startReplica({ database, redis: { mode: 'single', url: server.url }, ...options }))
}

async function hold(): Promise<string> {
  const call = reserveCall(account.keyId)
  expect(only(await database.money.reserve([call])).status).toBe('granted')
  return call.reservationId
}

/** Settles a hold of the model `chat`. The consumer receives the settlement and does not acknowledge it. */
async function settleAndGiveTo(consumer: string): Promise<void> {
  const key = settlementStreamKey('chat')
  await addSettlement(redis, 'chat', settlement(await hold()))
  await redis.xgroup('CREATE', key, 'billing', '0')
  await redis.xreadgroup('GROUP', 'billing', consumer, 'STREAMS', key, '>')
  expect(await pendingCount()).toBe(1)
}

async function pendingCount(): Promise<unknown> {
  return (await redis.xpending(settlementStreamKey('chat'), 'billing'))[0]
}

const posted = async () => (await database.balance(account.accountId)).posted

/** Resolves when Redis has refused a read of all models, then a read of each. Until then, reads of some may succeed. */
async function refuseReads(): Promise<void> {
  await redis.acl('LOG', 'RESET')
  await redis.acl('SETUSER', 'default', '-xreadgroup')
  await expect.poll(refusals, WAIT).toBeGreaterThanOrEqual(1 + MODELS)
}

/** Returns the number of refused commands; Redis counts them. */
async function refusals(): Promise<number> {
  const log = z.array(z.tuple([z.literal('count'), z.int()]).rest(z.unknown())).parse(await redis.acl('LOG'))
  return log.reduce((sum, [, count]) => sum + count, 0)
}

/** Returns the other model's watermark; if it is not null, a replica has read and swept. */
async function watermarkOfOther(): Promise<unknown> {
  const { rows } = await database.pool.query<{ watermark: Date }>(
    "select watermark from settlement_watermarks where model = 'odd'",
  )
  return rows[0]?.watermark ?? null
}
