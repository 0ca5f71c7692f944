import { expect, test } from 'vitest'
import { z } from 'zod'
import { loadConfig } from '#libs/config/load-config.ts'
import {
  BusRedisFields,
  checkBusRedis,
  checkQueueRedis,
  QueueRedisFields,
  toBusRedis,
  toQueueRedis,
} from '#libs/config/redis-fields.ts'

const Config = z
  .object({ ...QueueRedisFields, ...BusRedisFields })
  .superRefine(checkQueueRedis)
  .superRefine(checkBusRedis)

function read(fields: Record<string, string>) {
  const config = loadConfig(Config, {
    QUEUE_REDIS_URL: 'redis://queue:6379',
    BUS_REDIS_URL: 'redis://bus:6379',
    ...fields,
  })
  return { queue: toQueueRedis(config), bus: toBusRedis(config) }
}

test('without a mode a Redis is one server', () => {
  expect(read({})).toEqual({
    queue: { mode: 'single', url: 'redis://queue:6379' },
    bus: [{ mode: 'single', url: 'redis://bus:6379' }],
  })
})

test('a Sentinel group has the name of its master as host', () => {
  const queue = {
    QUEUE_REDIS_MODE: 'sentinel',
    QUEUE_REDIS_URL: 'rediss://app:secret@queue_master/2',
    QUEUE_REDIS_SENTINELS: 'a:26379,[::1]:26380',
    QUEUE_REDIS_SENTINEL_PASSWORD: 'other',
  }
  expect(read(queue).queue).toEqual({
    mode: 'sentinel',
    url: 'rediss://app:secret@queue_master/2',
    sentinels: ['a:26379', '[::1]:26380'],
    sentinelPassword: 'other',
  })
})

test('a Cluster may be given by several nodes', () => {
  const queue = { QUEUE_REDIS_MODE: 'cluster', QUEUE_REDIS_URL: 'redis://a:1,redis://b:2' }
  expect(read(queue).queue).toEqual({ mode: 'cluster', urls: ['redis://a:1', 'redis://b:2'] })
})

test('the bus may be several servers, each a Sentinel group as well', () => {
  expect(read({ BUS_REDIS_URL: 'redis://a,redis://b' }).bus).toEqual([
    { mode: 'single', url: 'redis://a' },
    { mode: 'single', url: 'redis://b' },
  ])
  const groups = {
    BUS_REDIS_MODE: 'sentinel',
    BUS_REDIS_URL: 'redis://a,redis://b',
    BUS_REDIS_SENTINELS: 's:1',
  }
  expect(read(groups).bus).toEqual([
    { mode: 'sentinel', url: 'redis://a', sentinels: ['s:1'], sentinelPassword: undefined },
    { mode: 'sentinel', url: 'redis://b', sentinels: ['s:1'], sentinelPassword: undefined },
  ])
})

test.each<[Record<string, string>, string]>([
  [{ QUEUE_REDIS_URL: 'http://queue' }, 'QUEUE_REDIS_URL is set: expected a redis:// or rediss:// URL'],
  [{ BUS_REDIS_URL: 'redis://a,b' }, 'BUS_REDIS_URL is set: expected a redis:// or rediss:// URL'],
  [{ QUEUE_REDIS_URL: 'redis://a,redis://b' }, 'expected one URL: QUEUE_REDIS_MODE is single'],
  [{ QUEUE_REDIS_MODE: 'sentinel' }, 'QUEUE_REDIS_SENTINELS is not set: QUEUE_REDIS_MODE=sentinel needs it'],
  [{ BUS_REDIS_MODE: 'sentinel' }, 'BUS_REDIS_SENTINELS is not set: BUS_REDIS_MODE=sentinel needs it'],
  [{ QUEUE_REDIS_SENTINELS: 'a:1' }, 'it is for QUEUE_REDIS_MODE=sentinel only'],
  [{ BUS_REDIS_SENTINEL_PASSWORD: 'a' }, 'it is for BUS_REDIS_MODE=sentinel only'],
  [{ QUEUE_REDIS_MODE: 'cluster', QUEUE_REDIS_URL: 'redis://a/1' }, 'a Cluster has only database 0'],
  [{ BUS_REDIS_URL: 'redis://a,redis://a' }, 'expected different servers'],
  [{ BUS_REDIS_MODE: 'cluster' }, 'use single servers, separated by commas in BUS_REDIS_URL, or Sentinel'],
])('%o is refused', (fields, problem) => {
  expect(() => read(fields)).toThrow(problem)
})
