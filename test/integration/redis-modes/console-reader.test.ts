import { Cluster } from 'ioredis'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createQueueReader } from '#apps/console/live/read-queues.ts'
import type { RedisPlace } from '#libs/config/redis-fields.ts'
import { settlementStreamKey, waitingExpiryKey } from '#libs/queue-redis/keys.ts'
import { connectRedis, type RedisClient } from '#libs/redis/connect-redis.ts'
import { consoleReader } from '../../support/console-reader.ts'
import { createCluster } from '../../support/redis-cluster.ts'
import { createSentinelGroup } from '../../support/redis-sentinel.ts'

// Tests that the Redis user of docs/operators.md has enough rights for the console in each mode.
// test/e2e/console-live.test.ts tests a single server and the bus.

const PASSWORD = 'of-the-console'
/** These models are on all three masters of the Cluster. */
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

/** Returns what the user of the console reads at a place, and the answer to a write. */
async function readAsConsole(owner: RedisClient, place: RedisPlace) {
  for (const model of MODELS) {
    await owner.zadd(waitingExpiryKey(model), 1, 'a', 2, 'b')
    await owner.xadd(settlementStreamKey(model), '*', 'field', 'value')
  }
  const servers = owner instanceof Cluster ? owner.nodes('all') : [owner]
  for (const server of servers) await server.call('ACL', 'SETUSER', ...consoleReader(PASSWORD))
  const redis = await connect(place)
  const reader = createQueueReader({ redis, log: pino({ level: 'silent' }) })
  return {
    queues: await reader.read(MODELS),
    memory: await redis.info('memory'),
    write: await redis.set('mr2:main:x', '1').catch(String),
  }
}

const READABLE = {
  queues: new Map(MODELS.map((model) => [model, { waiting: 2, settled: 1 }])),
  memory: expect.stringContaining('maxmemory:'),
  write: expect.stringContaining('NOPERM'),
}

test('the user of the console reads the queues of a Sentinel group', async () => {
  const group = await createSentinelGroup()
  onTestFinished(async () => await group.stop())
  const place = { ...group.place, url: asConsole(group.place.url) }
  expect(await readAsConsole(await connect(group.place), place)).toEqual(READABLE)
})

test('the user of the console reads the queues of a Cluster', async () => {
  const cluster = await createCluster()
  onTestFinished(async () => await cluster.stop())
  const [first, ...others] = cluster.place.urls
  const place = { mode: 'cluster', urls: [asConsole(first), ...others] } as const
  expect(await readAsConsole(await connect(cluster.place), place)).toEqual(READABLE)
})
