import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Registry } from 'prom-client'
import { createMetrics } from '#apps/billing/metrics.ts'
import { watchEviction } from '#apps/billing/watch-eviction.ts'
import { connectRedis, type RedisClient } from '#libs/redis/connect-redis.ts'
import { readEvictionPolicies, refuseEviction } from '#libs/redis/eviction-policy.ts'
import { createRedis, type TestRedis } from '#test/support/redis.ts'

const log = pino({ level: 'silent' })

let server: TestRedis
let redis: RedisClient

beforeAll(async () => {
  server = await createRedis({ 'maxmemory-policy': 'allkeys-lru' })
  redis = await connectRedis({
    place: { mode: 'single', url: server.url },
    name: 'test',
    patience: 'bounded',
    log,
  })
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

test('a queue Redis that evicts is refused, and one that does not is accepted', async () => {
  await expect(refuseEviction(redis, { log })).rejects.toThrow(
    /QUEUE_REDIS_URL.*allkeys-lru; expected noeviction/,
  )
  await redis.config('SET', 'maxmemory-policy', 'volatile-ttl')
  await expect(refuseEviction(redis, { log })).rejects.toThrow('volatile-ttl')
  await redis.config('SET', 'maxmemory-policy', 'noeviction')
  await refuseEviction(redis, { log })
})

test('the policy is read where CONFIG is forbidden', async () => {
  await redis.acl('SETUSER', 'managed', 'on', '>secret-of-the-test', '~*', '&*', '+@all', '-config')
  const url = new URL(server.url)
  url.username = 'managed'
  url.password = 'secret-of-the-test'
  const place = { mode: 'single', url: url.href } as const
  const managed = await connectRedis({ place, name: 'managed', patience: 'bounded', log })
  expect(await readEvictionPolicies(managed)).toEqual(['noeviction'])
  managed.disconnect()
})

test('a policy that changes later is an alarm until it is right again', async () => {
  const metrics = createMetrics(new Registry(), () => 0)
  const value = async () => (await metrics.queueEvicts.get()).values[0]?.value
  const stop = watchEviction({ redis, everyMs: 20, metrics, log })
  await expect.poll(value).toBe(0)
  await redis.config('SET', 'maxmemory-policy', 'allkeys-random')
  await expect.poll(value).toBe(1)
  await redis.config('SET', 'maxmemory-policy', 'noeviction')
  await expect.poll(value).toBe(0)
  stop()
})
