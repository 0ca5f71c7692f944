import { Cluster } from 'ioredis'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createQueueReader } from '#apps/console/live/read-queues.ts'
import type { RedisPlace } from '#libs/config/redis-fields.ts'
import { settlementStreamKey, waitingExpiryKey } from '#libs/generation-record/keys.ts'
import { connectRedis, type RedisClient } from '#libs/redis/connect-redis.ts'
import { consoleReader } from '../../support/console-reader.ts'
import { createCluster } from '../../support/redis-cluster.ts'
import { createSentinelGroup } from '../../support/redis-sentinel.ts'

// The Redis user of docs/operators.md is enough for the console in each mode; test/e2e/console-live.test.ts has a single
// server and the bus.

const PASSWORD = 'of-the-console'
/** They are on all three masters of the Cluster. */
const MODELS = ['one', 'two', 'three', 'four', 'five', 'six']

async function connect(place: RedisPlace): Promise<RedisClient> {
  const log = pino({ level: 'silent' })
  const redis = await connectRedis({ place, name: 'test', patience: 'fail-fast', log })
  onTestFinished(() => redis.disconnect())
  return redis
}

function asConsole(text: string): string {
  return Object.assign(new URL(text), { username: 'console', password: PASSWORD }).href
}

async function expectReadable(owner: RedisClient, place: RedisPlace): Promise<void> {
  for (const model of MODELS) {
    await owner.zadd(waitingExpiryKey(model), 1, 'a', 2, 'b')
    await owner.xadd(settlementStreamKey(model), '*', 'field', 'value')
  }
  const servers = owner instanceof Cluster ? owner.nodes('all') : [owner]
  for (const server of servers) await server.call('ACL', 'SETUSER', ...consoleReader(PASSWORD))
  const redis = await connect(place)
  const reader = createQueueReader({ redis, log: pino({ level: 'silent' }) })
  expect(await reader.read(MODELS)).toEqual(
    new Map(MODELS.map((model) => [model, { waiting: 2, settled: 1 }])),
  )
  expect(await redis.info('memory')).toContain('maxmemory:')
  await expect(redis.set('mr2:x', '1')).rejects.toThrow('NOPERM')
}

test('the user of the console reads the queues of a Sentinel group', async () => {
  const group = await createSentinelGroup()
  onTestFinished(async () => await group.stop())
  await expectReadable(await connect(group.place), { ...group.place, url: asConsole(group.place.url) })
})

test('the user of the console reads the queues of a Cluster', async () => {
  const cluster = await createCluster()
  onTestFinished(async () => await cluster.stop())
  const [first, ...others] = cluster.place.urls
  await expectReadable(await connect(cluster.place), {
    mode: 'cluster',
    urls: [asConsole(first), ...others],
  })
})
