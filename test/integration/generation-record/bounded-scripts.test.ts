import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import { createCountWaiting } from '#libs/generation-record/count-waiting.ts'
import { createGenerationRecord, type GenerationRecord } from '#libs/generation-record/generation-record.ts'
import {
  finishKey,
  requirementsKey,
  VIRTUAL_TIME,
  waitingSumsKey,
  waitingExpiryKey,
  waitingKey,
} from '#libs/queue-redis/keys.ts'
import {
  generationClaim,
  generationJob,
  generationEnqueue,
  enqueuePlace,
} from '../../support/generation-job.ts'
import { test as redisTest } from '../../support/redis-test.ts'

// These tests have a Redis server of their own, so that its command counters count only the scripts.

const MANY = 100_000
const PAGE = 10_000
/** The most finishes that one call sweeps. */
const FINISHES = 200
const OVERDUE = 64
/** The most commands for one overdue generation, and for everything else in a call. */
const EACH = 10
const REST = 40

const test = redisTest.extend('record', { scope: 'file' }, ({ redis }) =>
  createGenerationRecord({ redis, self: 'self-1', graceMs: 60_000 }),
)

test('an enqueue forgets at most 200 of 100,000 finishes that the virtual time has passed', async ({
  redis,
  record,
}) => {
  const model = newModel()
  await addPages((at) => redis.zadd(finishKey(model), ...page(at, (n) => [String(n + 1), `account-${n}`])))
  await redis.zadd(finishKey(model), String(2 * MANY), VIRTUAL_TIME)
  const left = async () => (await redis.zcard(finishKey(model))) - 1
  for (let enqueues = 1; enqueues <= 3; enqueues += 1) {
    expect((await arrive(record, model, `newcomer-${enqueues}`)).tag).toBeGreaterThanOrEqual(2 * MANY)
    expect(await left()).toBe(MANY - enqueues * FINISHES + enqueues)
  }
})

test('a finish that the virtual time has passed, and that is not forgotten yet, puts no account ahead', async ({
  redis,
  record,
}) => {
  const model = newModel()
  await addPages((at) => redis.zadd(finishKey(model), ...page(at, (n) => [String(n + 1), `account-${n}`])))
  await redis.zadd(finishKey(model), String(2 * MANY), VIRTUAL_TIME)
  // The finish of this account is among the last that are forgotten.
  expect((await arrive(record, model, `account-${MANY - 1}`)).tag).toBe(2 * MANY)
})

test('with 100,000 overdue generations and accounts, no call executes more commands than a few for each of 64', async ({
  redis,
  record,
}) => {
  const model = newModel()
  await fill(redis, model)
  const overdue = async () => await redis.zcard(waitingExpiryKey(model))
  const bound = OVERDUE * EACH + REST

  const enqueue = await commandsOf(redis, async () => await arrive(record, model, 'newcomer'))
  expect(await overdue()).toBe(MANY - OVERDUE + 1)
  expect(enqueue).toBeLessThanOrEqual(bound)

  const claim = await commandsOf(redis, async () => await record.claim(model, generationClaim()))
  expect(await overdue()).toBe(MANY - OVERDUE)
  expect(claim).toBeLessThanOrEqual(bound)

  const usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 }
  const settlement = { id: randomUUID(), epoch: 1, outcome: 'never-ran', ...usage } as const
  const settle = await commandsOf(
    redis,
    async () => await record.settle(model, settlement, { role: 'gateway' }),
  )
  expect(settle).toBeLessThanOrEqual(REST)
  const countWaiting = createCountWaiting(redis)
  expect(await commandsOf(redis, async () => await countWaiting(model))).toBeLessThanOrEqual(REST)
  expect(await commandsOf(redis, async () => await record.waitingBytes(model))).toBeLessThanOrEqual(REST)
})

const newModel = () => `model-${randomUUID()}`

async function arrive(record: GenerationRecord, model: string, accountId: string) {
  const place = enqueuePlace({ accountId, mostAhead: 10 * MANY })
  const enqueue = await record.enqueue(await generationEnqueue(generationJob({ model }), { place }))
  if (enqueue.status !== 'waiting') throw new Error(`answered ${enqueue.status}`)
  return enqueue
}

/** Adds overdue generations without a record, each of a different account. */
async function fill(redis: Redis, model: string) {
  const member = (n: number) => `1\n1\n1\n1\nchat\naccount-${n}\nid-${n}`
  await redis.sadd(requirementsKey(model), 'chat')
  await addPages(async (at) => {
    await redis.zadd(waitingKey(model, 'chat'), ...page(at, (n) => [String(n + 1), member(n)]))
    await redis.zadd(waitingExpiryKey(model), ...page(at, (n) => ['1', member(n)]))
    await redis.hset(waitingSumsKey(model), ...page(at, (n) => [`account-${n}`, '1 1 1']))
  })
  await redis.hset(waitingSumsKey(model), '', `${MANY} ${MANY} ${MANY}`)
}

async function addPages(add: (at: number) => Promise<unknown>) {
  for (let at = 0; at < MANY; at += PAGE) await add(at)
}

const page = (at: number, toPair: (n: number) => [string, string]) =>
  Array.from({ length: PAGE }, (_, index) => toPair(at + index)).flat()

/** Returns how many commands `work` causes, including commands within scripts. */
async function commandsOf(redis: Redis, work: () => Promise<unknown>): Promise<number> {
  await redis.config('RESETSTAT')
  await work()
  const stats = await redis.info('commandstats')
  const calls = Array.from(stats.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gmu), ([, name, count]) =>
    name === 'config|resetstat' ? 0 : Number(count),
  )
  expect(calls.length).toBeGreaterThan(1)
  return calls.reduce((sum, count) => sum + count, 0)
}
