import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import { followModels } from '#apps/billing/catalog/follow-models.ts'
import { watchVersions } from '#apps/billing/database/watch-versions.ts'
import { deadLetterKey } from '#apps/billing/settlements/settlement-streams.ts'
import type { ReserveCall } from '#libs/billing-client/billing-calls.ts'
import { settlementStreamKey } from '#libs/queue-redis/keys.ts'
import {
  CHAT,
  EMBED,
  log,
  ODD,
  reserveCall,
  settlement,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { addSettlement, type SettlementReplica } from '../support/settlement-replica.ts'
import { test as base } from '../support/settlement-test.ts'

const WAIT = { interval: 20 }

/** Gives entries to a dead consumer, as if it had been killed between reading and acknowledging them. */
const test = base.extend(
  'giveToDeadConsumer',
  ({ redis }) =>
    async (model: string, reservationId: string, count = 1) => {
      const key = settlementStreamKey(model)
      await addSettlement(redis, model, settlement(reservationId))
      await redis.xgroup('CREATE', key, 'billing', '0')
      await redis.xreadgroup('GROUP', 'billing', 'dead', 'COUNT', count, 'STREAMS', key, '>')
      if ((await pendingCount(redis, model)) !== count) throw new Error('the dead consumer got less')
    },
)

test('settles and acknowledges the entries of every stream, also those from before it started', async ({
  database,
  redis,
  start,
}) => {
  const account = await database.createAccount(10_000n)
  const early = await hold(database, account.keyId)
  await addSettlement(redis, 'chat', settlement(early))
  start()
  await charged(database, account.accountId, 700n)
  const late = await hold(database, account.keyId, { model: 'embed', outputTokens: 0 })
  await addSettlement(redis, 'embed', settlement(late, { completionTokens: 0 }))
  await charged(database, account.accountId, 900n)
  await expect.poll(() => pendingCount(redis, 'chat'), WAIT).toBe(0)
  await expect.poll(() => pendingCount(redis, 'embed'), WAIT).toBe(0)
})

test('two replicas share a stream, and an entry delivered twice is charged once', async ({
  database,
  redis,
  start,
}) => {
  const account = await database.createAccount(100_000n)
  start()
  start()
  const ids = await Promise.all(Array.from({ length: 40 }, () => hold(database, account.keyId)))
  for (const id of [...ids, ...ids]) await addSettlement(redis, 'chat', settlement(id))
  await charged(database, account.accountId, 28_000n)
  await expect.poll(() => pendingCount(redis, 'chat'), WAIT).toBe(0)
})

test('takes over what a killed replica was given and had not acknowledged', async ({
  database,
  redis,
  start,
  giveToDeadConsumer,
}) => {
  const account = await database.createAccount(10_000n)
  const id = await hold(database, account.keyId)
  await giveToDeadConsumer('chat', id)
  start()
  await charged(database, account.accountId, 700n)
  await expect.poll(() => pendingCount(redis, 'chat'), WAIT).toBe(0)
})

test('claims all abandoned entries, also behind many that were just delivered', async ({
  database,
  redis,
  start,
  giveToDeadConsumer,
}) => {
  const account = await database.createAccount(10_000n)
  const id = await hold(database, account.keyId)
  const key = settlementStreamKey('chat')
  for (let copy = 0; copy < 4_000; copy += 1) void addSettlement(redis, 'chat', settlement(id))
  await giveToDeadConsumer('chat', id, 4_001)
  const old = await redis.xpending(key, 'billing', '-', '+', 4_001)
  const ids = old.map((entry) => String(Array.isArray(entry) ? entry[0] : entry)).slice(3_000)
  await redis.xclaim(key, 'billing', 'dead', 0, ...ids, 'IDLE', 7_200_000)
  start({ claimIdleMs: 3_600_000 })
  await expect.poll(() => pendingCount(redis, 'chat'), WAIT).toBe(3_000)
})

test('no hold expires while an entry of its model is pending, and then the lost one does', async ({
  database,
  start,
  giveToDeadConsumer,
}) => {
  const account = await database.createAccount(10_000n)
  const longAgo = { deadlineMs: Date.now() - 24 * 3_600_000 }
  const settled = await hold(database, account.keyId, longAgo)
  const lost = await hold(database, account.keyId, longAgo)
  await giveToDeadConsumer('chat', settled)
  const replica = start({ claimIdleMs: 3_600_000 })
  await sweeps(replica, 'chat', 3)
  expect(await watermark(database, 'chat')).toBeNull()
  expect(await watermark(database, 'odd')).not.toBeNull()
  expect(await database.balance(account.accountId)).toEqual({ posted: 10_000n, held: 1_400n, openHolds: 2 })

  start({ claimIdleMs: 0 })
  await expect.poll(() => state(database, lost), WAIT).toBe('expired')
  expect(await database.balance(account.accountId)).toEqual({ posted: 9_300n, held: 0n, openHolds: 0 })
  const { rows } = await database.pool.query('select late, charged from usage')
  expect(rows).toEqual([{ late: false, charged: 700n }])
})

test('a settlement that comes after its hold expired is charged late', async ({ database, redis, start }) => {
  const account = await database.createAccount(10_000n)
  const id = await hold(database, account.keyId, { deadlineMs: Date.now() - 24 * 3_600_000 })
  start()
  await expect.poll(() => state(database, id), WAIT).toBe('expired')
  await addSettlement(redis, 'chat', settlement(id))
  await charged(database, account.accountId, 700n)
})

test('unreadable entries go to the dead letters with an alarm, and block nothing', async ({
  database,
  redis,
  start,
}) => {
  const account = await database.createAccount(10_000n)
  const id = await hold(database, account.keyId)
  await redis.xadd(settlementStreamKey('chat'), '*', 'id', 'nonsense', 'epoch', '1')
  await addSettlement(redis, 'chat', settlement(randomUUID(), { epoch: 3_000_000_000 }))
  await addSettlement(redis, 'chat', settlement(id))
  const replica = start()
  await charged(database, account.accountId, 700n)
  await expect.poll(() => replica.alarms('dead-letter'), WAIT).toBe(2)
  const dead = await redis.xrange(deadLetterKey('chat'), '-', '+')
  expect(dead.map(([, fields]) => fields.slice(4, 6))).toEqual([
    ['id', 'nonsense'],
    ['id', expect.any(String)],
  ])
  await expect.poll(() => watermark(database, 'chat'), WAIT).not.toBeNull()
})

test('settlements that should not exist are alarms', async ({ database, redis, start }) => {
  const account = await database.createAccount(10_000n)
  const id = await hold(database, account.keyId)
  const replica = start()
  await addSettlement(redis, 'chat', settlement(randomUUID()))
  await addSettlement(redis, 'chat', settlement(id))
  await addSettlement(redis, 'chat', settlement(id, { epoch: 2, completionTokens: 1 }))
  await expect.poll(() => replica.alarms('unknown'), WAIT).toBe(1)
  await expect.poll(() => replica.alarms('different'), WAIT).toBe(1)
  await charged(database, account.accountId, 700n)
})

test('write-offs are counted as in the ledger, of a released hold too, and once', async ({
  database,
  redis,
  start,
}) => {
  const account = await database.createAccount(10_000n)
  const [released, ranLonger] = [await hold(database, account.keyId), await hold(database, account.keyId)]
  await database.money.release([released])
  const replica = start()
  await addSettlement(redis, 'chat', settlement(released))
  await addSettlement(redis, 'chat', settlement(released))
  await addSettlement(redis, 'chat', settlement(released, { epoch: 2 }))
  await addSettlement(redis, 'chat', settlement(ranLonger, { completionTokens: 60 }))
  await charged(database, account.accountId, 700n)
  await expect.poll(() => replica.alarms('different'), WAIT).toBe(1)
  expect(await replica.alarms('released')).toBe(1)
  const { rows } = await database.pool.query<{ sum: string }>(
    "select sum(amount) from ledger where kind = 'write-off'",
  )
  expect(rows).toEqual([{ sum: '800' }])
  await expect.poll(() => replica.writtenOffCredits(), WAIT).toBeCloseTo(800e-9, 15)
})

test('the age of a watermark grows while Redis is away, and is reported before Redis was ever reached', async ({
  database,
  server,
  start,
}) => {
  const replica = start()
  await expect.poll(() => watermark(database, 'chat'), WAIT).not.toBeNull()
  await server.stop()
  await expect.poll(() => replica.watermarkAge('chat'), WAIT).toBeGreaterThan(2)
  const newcomer = start()
  await expect.poll(() => newcomer.watermarkAge('chat'), WAIT).toBeGreaterThan(1)
  await server.start()
  await expect.poll(() => replica.watermarkAge('chat'), WAIT).toBeLessThan(1)
  await expect.poll(() => newcomer.watermarkAge('chat'), WAIT).toBeLessThan(1)
})

test('goes on by itself when Redis was away, and freezes the watermarks because Redis may have lost writes', async ({
  database,
  redis,
  server,
  start,
}) => {
  const account = await database.createAccount(10_000n)
  const [first, second] = [await hold(database, account.keyId), await hold(database, account.keyId)]
  const replica = start()
  await addSettlement(redis, 'chat', settlement(first))
  await charged(database, account.accountId, 700n)
  await expect.poll(() => watermark(database, 'chat'), WAIT).not.toBeNull()
  expect(await isFrozen(database, 'chat')).toBe(false)

  await server.stop()
  await server.start()
  await addSettlement(redis, 'chat', settlement(second))
  await charged(database, account.accountId, 1_400n)
  await expect.poll(() => isFrozen(database, 'chat'), WAIT).toBe(true)
  const frozenAt = await watermark(database, 'chat')
  await sweeps(replica, 'chat', 3)
  expect(await watermark(database, 'chat')).toEqual(frozenAt)
})

test('goes on by itself when Redis came back empty', async ({ database, redis, start }) => {
  const account = await database.createAccount(10_000n)
  const id = await hold(database, account.keyId)
  await addSettlement(redis, 'chat', settlement(randomUUID()))
  start()
  await expect.poll(() => watermark(database, 'chat'), WAIT).not.toBeNull()
  await redis.flushall()
  await addSettlement(redis, 'chat', settlement(id))
  await charged(database, account.accountId, 700n)
})

test('a new model in the catalog is taken up without a restart', async ({ database, redis, start }) => {
  const account = await database.createAccount(10_000n)
  const versions = watchVersions({ url: database.url, pool: database.pool, log, pollMs: 60_000 })
  const models = await followModels({ pool: database.pool, versions, log })
  await sweeps(start({ models: models.current }), 'chat', 1)
  await database.loadModels([CHAT, ODD, EMBED, { ...CHAT, id: 'newcomer' }])
  const id = await hold(database, account.keyId, { model: 'newcomer' })
  await addSettlement(redis, 'newcomer', settlement(id))
  await charged(database, account.accountId, 700n)
  expect(models.current()).toEqual(['chat', 'embed', 'newcomer', 'odd'])
  models.stop()
  await versions.close()
})

test('drops entries behind the watermark', async ({ redis, start }) => {
  for (let index = 1; index <= 300; index += 1) {
    await redis.xadd(settlementStreamKey('chat'), `${100_000 + index}-0`, 'id', 'old')
  }
  start()
  // Redis trims only whole nodes of a stream, so some old entries stay.
  await expect.poll(() => redis.xlen(settlementStreamKey('chat')), WAIT).toBeLessThan(150)
})

test('a replica that stops in good order leaves no consumer behind', async ({ redis, start }) => {
  const replica = start()
  await addSettlement(redis, 'chat', settlement(randomUUID()))
  await expect.poll(() => consumers(redis, 'chat'), WAIT).toHaveLength(1)
  await replica.stop()
  expect(await consumers(redis, 'chat')).toEqual([])
})

/** Makes a reservation and returns its id. */
async function hold(
  database: BillingDatabase,
  keyId: string,
  fields: Partial<ReserveCall> = {},
): Promise<string> {
  const call = reserveCall(keyId, { deadlineMs: Date.now() + 600_000, ...fields })
  const [answer] = await database.money.reserve([call])
  if (answer?.status !== 'granted') throw new Error(`expected a hold, got ${answer?.status}`)
  return call.reservationId
}

async function charged(database: BillingDatabase, accountId: string, nano: bigint): Promise<void> {
  const { rows } = await database.pool.query<{ amount: string }>(
    'select amount from topups where account_id = $1',
    [accountId],
  )
  const given = BigInt(rows[0]?.amount ?? 0)
  await expect.poll(async () => given - (await database.balance(accountId)).posted, WAIT).toBe(nano)
}

/** Waits until one replica has read the model's stream this many more times. */
async function sweeps(replica: SettlementReplica, model: string, count: number): Promise<void> {
  const before = replica.looks(model)
  await expect.poll(() => replica.looks(model), WAIT).toBeGreaterThan(before + count)
}

async function watermarkRow(database: BillingDatabase, model: string) {
  const { rows } = await database.pool.query<{
    watermark: Date | null
    frozen_until: Date | null
    observed_at: Date
  }>('select watermark, frozen_until, observed_at from settlement_watermarks where model = $1', [model])
  return rows[0]
}

const watermark = async (database: BillingDatabase, model: string) =>
  (await watermarkRow(database, model))?.watermark ?? null

async function isFrozen(database: BillingDatabase, model: string): Promise<boolean> {
  const row = await watermarkRow(database, model)
  return row?.frozen_until != null && row.frozen_until > row.observed_at
}

async function state(database: BillingDatabase, reservationId: string): Promise<string | undefined> {
  const { rows } = await database.pool.query<{ state: string }>(
    'select state from reservations where id = $1',
    [reservationId],
  )
  return rows[0]?.state
}

async function pendingCount(redis: Redis, model: string): Promise<unknown> {
  const [count] = await redis.xpending(settlementStreamKey(model), 'billing')
  return count
}

async function consumers(redis: Redis, model: string): Promise<unknown> {
  try {
    return await redis.xinfo('CONSUMERS', settlementStreamKey(model), 'billing')
  } catch {
    return []
  }
}
