import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import { z } from 'zod'
import { createSettlementStreams } from '#apps/billing/settlements/settlement-streams.ts'
import { createGenerationRecord } from '#libs/generation-record/generation-record.ts'
import { settlementMarkKey, settlementStreamKey } from '#libs/queue-redis/keys.ts'
import { settlement } from '../support/billing-database.ts'
import { addSettlement } from '../support/settlement-replica.ts'
import { test as base } from '../support/settlement-test.ts'
import { hold } from '../support/single-calls.ts'

const WAIT = { interval: 20 }
/** The number of models that a replica reads: `chat`, `embed` and `odd`. */
const MODELS = 3
const NEVER_MS = 3_600_000

const test = base
  .extend('account', ({ database }) => database.createAccount(10_000n))
  .extend(
    'posted',
    ({ database, account }) =>
      async () =>
        (await database.balance(account.accountId)).posted,
  )
  .extend('hold', ({ database, account }) => async () => {
    const { reservationId } = await hold(database, account.keyId)
    return reservationId
  })
  .extend(
    'pendingCount',
    ({ redis }) =>
      async () =>
        (await redis.xpending(settlementStreamKey('chat'), 'billing'))[0],
  )
  /** Settles a hold of the model `chat`. The consumer receives the settlement and does not acknowledge it. */
  .extend('settleAndGiveTo', ({ redis, hold, pendingCount }) => async (consumer: string) => {
    const key = settlementStreamKey('chat')
    await addSettlement(redis, 'chat', settlement(await hold()))
    await redis.xgroup('CREATE', key, 'billing', '0')
    await redis.xreadgroup('GROUP', 'billing', consumer, 'STREAMS', key, '>')
    if ((await pendingCount()) !== 1) throw new Error('the consumer got nothing')
  })
  /** Returns the other model's watermark; if it is not null, a replica has read and swept. */
  .extend('watermarkOfOther', ({ database }) => async () => {
    const { rows } = await database.pool.query<{ watermark: Date }>(
      "select watermark from settlement_watermarks where model = 'odd'",
    )
    return rows[0]?.watermark ?? null
  })

test('after a failed read a replica takes first what it had received: the reply may have been lost', async ({
  redis,
  start,
  posted,
  pendingCount,
  watermarkOfOther,
  settleAndGiveTo,
}) => {
  await settleAndGiveTo('replica-1')
  start({ claimIdleMs: NEVER_MS, consumer: 'replica-1' })
  await expect.poll(watermarkOfOther, WAIT).not.toBeNull()
  expect(await pendingCount()).toBe(1)
  await refuseReads(redis)
  await redis.acl('SETUSER', 'default', '+xreadgroup')
  await expect.poll(posted, WAIT).toBe(9_300n)
  await expect.poll(pendingCount, WAIT).toBe(0)
})

test('a stream whose group was lost while it could not be read is read again', async ({
  redis,
  start,
  hold,
  posted,
  watermarkOfOther,
}) => {
  const id = await hold()
  start({ claimIdleMs: NEVER_MS })
  await expect.poll(watermarkOfOther, WAIT).not.toBeNull()
  await refuseReads(redis)
  // The consumer group is gone, as after a failover to a replica without the group.
  await redis.flushall()
  await redis.acl('SETUSER', 'default', '+xreadgroup')
  await addSettlement(redis, 'chat', settlement(id))
  await expect.poll(posted, WAIT).toBe(9_300n)
})

test('a stream whose group was lost while its entries were being claimed is read again', async ({
  redis,
}) => {
  const consumer = createSettlementStreams({ redis, consumer: 'replica-1' })
  await consumer.readNew(['chat'], 10)
  await redis.flushall()
  expect(await consumer.claim('chat', { start: '0-0', minIdleMs: 0, count: 10 })).toEqual({
    entries: [],
    next: null,
  })
})

test('the memory of Redis may be full: settlements are taken all the same, also by a new replica', async ({
  redis,
  start,
  hold,
  posted,
  pendingCount,
  watermarkOfOther,
}) => {
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

test('the mark of a model says what is committed: nothing after its oldest pending entry', async ({
  redis,
  start,
  posted,
  settleAndGiveTo,
}) => {
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

test('a stream that is read again has no mark until it is committed again', async ({ redis }) => {
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

test('a server that is no master any more is not observed', async ({ redis }) => {
  const streams = createSettlementStreams({ redis, consumer: 'replica-1' })
  await streams.readNew(['chat'], 10)
  expect((await streams.observe('chat')).stream).not.toBeNull()
  await redis.replicaof('127.0.0.1', 1)
  await expect(streams.observe('chat')).rejects.toThrow('READONLY')
  await expect.poll(() => redis.replicaof('NO', 'ONE').catch(String), WAIT).toBe('OK')
})

/** Resolves when Redis has refused a read of all models, then a read of each. Until then, reads of some may succeed. */
async function refuseReads(redis: Redis): Promise<void> {
  await redis.acl('LOG', 'RESET')
  await redis.acl('SETUSER', 'default', '-xreadgroup')
  await expect.poll(() => refusals(redis), WAIT).toBeGreaterThanOrEqual(1 + MODELS)
}

/** Returns the number of refused commands; Redis counts them. */
async function refusals(redis: Redis): Promise<number> {
  const log = z.array(z.tuple([z.literal('count'), z.int()]).rest(z.unknown())).parse(await redis.acl('LOG'))
  return log.reduce((sum, [, count]) => sum + count, 0)
}
