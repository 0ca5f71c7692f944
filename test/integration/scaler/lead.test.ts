import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import { createLead } from '#apps/scaler/lead.ts'
import { scalerKeys } from '#libs/queue-redis/keys.ts'
import { createSnapshotStore, type Snapshot } from '#apps/scaler/snapshot.ts'
import { test } from '../../support/shared-redis-test.ts'
import { until } from '../../support/until.ts'

const newName = () => `test-${randomUUID()}`

const snapshotOf = (term: number, target = 1): Snapshot => ({
  term,
  answers: { pool: { target, isActive: true } },
  pools: {},
  budget: { shortSince: {}, unevenSince: {} },
  means: {},
  starts: {},
  gateway: null,
  starving: {},
  report: [],
})

/** Returns a scaler's leadership part, with a clock that a test can set forward, as if the process had been frozen. */
function candidate(redis: Redis, name: string, self: string) {
  let skippedMs = 0
  const nowMs = () => performance.now() + skippedMs
  return {
    lead: createLead({ redis, name, self, nowMs }),
    store: createSnapshotStore({ redis, name, self }),
    skip(ms: number) {
      skippedMs += ms
    },
  }
}

async function take(redis: Redis, name: string, self: string) {
  const taken = candidate(redis, name, self)
  const { term } = await taken.lead.renew()
  return { ...taken, term: term ?? -1 }
}

const expire = async (redis: Redis, name: string) => await redis.del(scalerKeys(name).leader)

test('one of two leads, keeps its term as long as it renews, and gives the lead to the other when it resigns', async ({
  redis,
}) => {
  const name = newName()
  const first = await take(redis, name, 'first')
  const second = candidate(redis, name, 'second')
  expect((await second.lead.renew()).term).toBeNull()
  expect((await first.lead.renew()).term).toBe(first.term)
  await first.lead.resign()
  expect(first.lead.term()).toBeNull()
  expect((await second.lead.renew()).term).toBeGreaterThan(first.term)
})

test('a leader that does not renew loses the lock within 5 s, and knows it before', async ({ redis }) => {
  const name = newName()
  const first = await take(redis, name, 'first')
  expect(await redis.pttl(scalerKeys(name).leader)).toBeLessThanOrEqual(5_000)
  first.skip(4_000)
  expect(first.lead.term()).toBe(first.term)
  first.skip(1_000)
  expect(first.lead.term()).toBeNull()
})

test('a snapshot of a leader that was replaced is refused, before and after its successor wrote', async ({
  redis,
}) => {
  const name = newName()
  const first = await take(redis, name, 'first')
  expect(await first.store.write(snapshotOf(first.term))).toBe(true)
  await expire(redis, name)
  expect(await first.store.write(snapshotOf(first.term, 7))).toBe(false)
  const second = await take(redis, name, 'second')
  expect(await first.store.write(snapshotOf(first.term, 7))).toBe(false)
  expect((await second.store.read())?.snapshot.answers).toEqual({ pool: { target: 1, isActive: true } })
  expect(await second.store.write(snapshotOf(second.term, 2))).toBe(true)
  expect(await first.store.write(snapshotOf(first.term, 7))).toBe(false)
  expect((await first.store.read())?.snapshot).toEqual(snapshotOf(second.term, 2))
})

test('a scaler that lost the lead and takes it again has a new term', async ({ redis }) => {
  const name = newName()
  const first = await take(redis, name, 'first')
  await expire(redis, name)
  const again = await first.lead.renew()
  expect(again.term).toBeGreaterThan(first.term)
  expect(await first.store.write(snapshotOf(first.term))).toBe(false)
})

test('resigning leaves the lock of a successor alone', async ({ redis }) => {
  const name = newName()
  const first = await take(redis, name, 'first')
  await expire(redis, name)
  const second = await take(redis, name, 'second')
  await first.lead.resign()
  expect((await second.lead.renew()).term).toBe(second.term)
})

test('terms grow also after Redis has lost its data', async ({ redis }) => {
  const name = newName()
  const first = await take(redis, name, 'first')
  await redis.del(...Object.values(scalerKeys(name)))
  await until(async () => Math.floor((await first.lead.renew()).redisMs / 1_000) > first.term)
  await redis.del(...Object.values(scalerKeys(name)))
  expect((await take(redis, name, 'second')).term).toBeGreaterThan(first.term)
})

test('a snapshot has an age by the clock of Redis; without one there is nothing to read', async ({
  redis,
}) => {
  const name = newName()
  const first = await take(redis, name, 'first')
  expect(await first.store.read()).toBeNull()
  await first.store.write(snapshotOf(first.term))
  const { snapshot } = scalerKeys(name)
  const written = Number(await redis.hget(snapshot, 'written'))
  await redis.hset(snapshot, 'written', String(written - 60_000))
  const ageMs = (await first.store.read())?.ageMs ?? 0
  expect(ageMs).toBeGreaterThanOrEqual(60_000)
  expect(ageMs).toBeLessThan(120_000)
})

test('a snapshot that this release cannot read counts as none', async ({ redis }) => {
  const name = newName()
  const first = await take(redis, name, 'first')
  await redis.hset(scalerKeys(name).snapshot, { text: '{"term":"seven"}', written: '1' })
  expect(await first.store.read()).toBeNull()
})
