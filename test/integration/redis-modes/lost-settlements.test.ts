import type { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createSettlements, type Settlements } from '#apps/gateway/generation/settle/settlements.ts'
import { decodeTiming } from '#libs/contracts/settlement-timing.ts'
import { createGenerationRecord } from '#libs/generation-record/generation-record.ts'
import { settlementStreamKey } from '#libs/queue-redis/keys.ts'
import { generationJob } from '#test/support/generation-job.ts'
import { createRedis, type TestRedis } from '#test/support/redis.ts'
import {
  openBillingDatabase,
  reserveCall,
  type BillingDatabase,
} from '../billing/support/billing-database.ts'
import { connect, startReplica, type SettlementReplica } from '../billing/support/settlement-replica.ts'

const WAIT = { interval: 50, timeout: 20_000 }
const STREAM = settlementStreamKey('chat')

let [server, other]: TestRedis[] = []
let redis: Redis
let database: BillingDatabase
let replica: SettlementReplica
let settlements: Settlements
let account: { accountId: string; keyId: string }

beforeAll(async () => {
  server = await createRedis({ 'enable-debug-command': 'yes' })
  other = await createRedis()
  redis = connect(server.url)
})
beforeEach(async () => {
  await redis.flushall()
  database = await openBillingDatabase()
  account = await database.createAccount(10_000n)
  replica = startReplica({ database, redis: { mode: 'single', url: urlOf(server) }, models: () => ['chat'] })
  const record = createGenerationRecord({ redis, self: 'gateway-1', graceMs: 60_000 })
  settlements = createSettlements({
    record,
    billing: { release: () => Promise.resolve(true), resize: () => Promise.resolve({ status: 'conflict' }) },
    nowMs: () => Date.now(),
    queueClock: { nowMs: () => Date.now(), toQueueMs: (ownMs) => ownMs },
    holdGraceMs: 60_000,
    log: pino({ level: 'silent' }),
  })
})
afterEach(async () => {
  await settlements.drain()
  await replica.stop()
  await database.expectReconciled()
  await database.close()
})
afterAll(async () => {
  redis.disconnect()
  await server?.stop()
  await other?.stop()
})

/** Ways in which a stream can lose entries while its server keeps running. */
const LOSSES: Readonly<Record<string, () => Promise<unknown>>> = {
  'the server is flushed': async () => await redis.flushall(),
  'the stream is deleted': async () => await redis.del(STREAM),
  'the stream is deleted and has another entry at once': async () =>
    await redis.multi().del(STREAM).xadd(STREAM, '*', 'id', 'nonsense').exec(),
  'the stream is trimmed': async () => await redis.xtrim(STREAM, 'MAXLEN', 0),
  'an entry is deleted': async () => await redis.xdel(STREAM, ...(await lastIds())),
  'an older copy of everything is loaded': async () => await redis.call('DEBUG', 'RELOAD', 'NOSAVE'),
}

test.each(Object.entries(LOSSES))(
  '%s: the gateway sends again what it keeps, and it is an alarm',
  async (_, lose) => {
    await settleFirst()
    await redis.save()
    await settleUnseen()
    await lose()
    await charge()
    await expectCharged(2_100n)
    await expect.poll(() => replica.losses(), WAIT).toBe(1)
    await expect.poll(keptCount, WAIT).toBe(0)
  },
)

test('a master that was a replica for a moment has lost what it had acknowledged: it is sent again', async () => {
  await settleFirst()
  const second = connect(urlOf(other))
  await second.replicaof('127.0.0.1', new URL(urlOf(server)).port)
  await second.config('SET', 'masterauth', passwordOf(server))
  const before = await redis.xlen(STREAM)
  await expect.poll(() => second.xlen(STREAM), WAIT).toBe(before)
  await second.replicaof('NO', 'ONE')
  const ids = async () => [await field('server', 'run_id'), await field('replication', 'master_replid')]
  const [runId, replicationId] = await ids()
  await settleUnseen()
  await redis.config('SET', 'masterauth', passwordOf(other))
  await redis.replicaof('127.0.0.1', new URL(urlOf(other)).port)
  await expect.poll(() => redis.xlen(STREAM), WAIT).toBe(before)
  await redis.replicaof('NO', 'ONE')
  second.disconnect()
  expect(await ids()).toEqual([runId, expect.not.stringMatching(`^${replicationId}$`)])

  await charge()
  await expectCharged(2_100n)
  // A failover raises no alarm.
  expect(await replica.losses()).toBe(0)
})

/** Sends a settlement and waits until it is charged, so that billing knows the stream. */
async function settleFirst(): Promise<void> {
  settle(await reserve())
  await expectCharged(700n)
  await expect.poll(keptCount, WAIT).toBe(0)
}

/** Sends two settlements that Redis acknowledges and billing does not charge. Billing does not even read the second. */
async function settleUnseen(): Promise<void> {
  const [read, unread] = [await reserve(), await reserve()]
  await database.pool.query('revoke update on accounts from millrace_service')
  // The gateway knows the run id since it last read billing's mark.
  await settlements.tick()
  settle(read)
  await expect.poll(() => replica.failedCommits(), WAIT).toBeGreaterThan(0)
  // Billing still works on the first settlement, so it does not read this one.
  settle(unread)
  await expect.poll(() => settlements.counts(), WAIT).toEqual({ unanswered: 0, kept: 2 })
}

const charge = async () => await database.pool.query('grant update on accounts to millrace_service')

async function reserve() {
  const call = reserveCall(account.keyId, { deadlineMs: Date.now() + 600_000 })
  const [answer] = await database.money.reserve([call])
  if (answer?.status !== 'granted') throw new Error(`expected a hold, got ${answer?.status}`)
  return { id: call.reservationId, deadlineMs: call.deadlineMs, receipt: answer.receipt }
}

function settle({ id, deadlineMs, receipt }: Awaited<ReturnType<typeof reserve>>): void {
  const { hold } = generationJob()
  settlements.add(
    {
      job: generationJob({ id, model: 'chat', hold: { ...hold, receipt } }),
      epoch: 1,
      outcome: 'completed',
      promptTokens: 100,
      cachedTokens: 0,
      completionTokens: 50,
      deadlineMs,
      timing: decodeTiming(''),
    },
    () => {},
  )
}

/** Lets the gateway read billing's mark, and returns how many settlements it still keeps. */
async function keptCount(): Promise<number> {
  await settlements.tick()
  return settlements.counts().kept
}

async function expectCharged(nano: bigint): Promise<void> {
  const posted = async () => {
    await settlements.tick()
    return 10_000n - (await database.balance(account.accountId)).posted
  }
  await expect.poll(posted, WAIT).toBe(nano)
}

async function lastIds(): Promise<string[]> {
  return (await redis.xrevrange(STREAM, '+', '-', 'COUNT', 1)).map(([id]) => id)
}

async function field(section: string, name: string): Promise<string | undefined> {
  return new RegExp(`${name}:(\\w+)`).exec(await redis.info(section))?.[1]
}

function urlOf(redisServer: TestRedis | undefined): string {
  if (redisServer === undefined) throw new Error('it was started')
  return redisServer.url
}

const passwordOf = (redisServer: TestRedis | undefined) => new URL(urlOf(redisServer)).password
