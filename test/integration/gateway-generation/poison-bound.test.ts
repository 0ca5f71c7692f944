import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterEach, expect, test } from 'vitest'
import { createPoisonBound } from '#apps/gateway/generation/admission/poison-bound.ts'
import { killersKey } from '#libs/queue-redis/keys.ts'
import { sharedRedis } from '../../support/redis.ts'

const MINUTE_MS = 60_000
const log = pino({ level: 'silent' })
const opened: Redis[] = []

afterEach(async () => {
  await opened[0]?.del(killersKey())
  for (const redis of opened.splice(0)) redis.disconnect()
})

function open(clock: { nowMs: number }) {
  const redis = new Redis(sharedRedis())
  opened.push(redis)
  return { redis, bound: createPoisonBound({ redis, redisNowMs: () => clock.nowMs, log }) }
}

test('an account is barred by its third killer within ten minutes, at every gateway, until the first is that old', async () => {
  const clock = { nowMs: Date.now() }
  const beganMs = clock.nowMs
  const [one, other] = [open(clock), open(clock)]
  const [account, another] = [randomUUID(), randomUUID()]
  one.bound.note(account)
  clock.nowMs = beganMs + 4 * MINUTE_MS
  other.bound.note(account)
  clock.nowMs = beganMs + 8 * MINUTE_MS
  one.bound.note(another)
  await one.bound.tick()
  await other.bound.tick()
  await one.bound.tick()
  expect([one.bound.isBarred(account), other.bound.isBarred(account)]).toEqual([false, false])
  other.bound.note(account)
  expect(other.bound.isBarred(account)).toBe(true)
  await expect
    .poll(async () => {
      await one.bound.tick()
      return one.bound.isBarred(account)
    })
    .toBe(true)
  expect(one.bound.isBarred(another)).toBe(false)

  const later = open(clock)
  await later.bound.tick()
  expect(later.bound.isBarred(account)).toBe(true)
  clock.nowMs = beganMs + 10 * MINUTE_MS
  expect(one.bound.isBarred(account)).toBe(false)
  expect(await one.redis.pttl(killersKey())).toBeGreaterThan(0)
})

test('what Redis has lost, or did not take, its gateway still knows, and writes again', async () => {
  const clock = { nowMs: Date.now() }
  const [one, other] = [open(clock), open(clock)]
  const account = randomUUID()
  await one.redis.ping()
  one.redis.disconnect()
  for (let notes = 0; notes < 3; notes += 1) one.bound.note(account)
  await expect(one.bound.tick()).rejects.toThrow('Connection is closed')
  expect(one.bound.isBarred(account)).toBe(true)
  await other.bound.tick()
  expect(other.bound.isBarred(account)).toBe(false)
  await one.redis.connect()
  await one.bound.tick()
  await other.bound.tick()
  expect(other.bound.isBarred(account)).toBe(true)
  await one.redis.del(killersKey())
  await one.bound.tick()
  expect(one.bound.isBarred(account)).toBe(true)
})
