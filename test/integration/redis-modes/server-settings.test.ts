import { Redis } from 'ioredis'
import { pino } from 'pino'
import { Registry } from '@prometheus-io/client'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createMetrics } from '#apps/billing/metrics.ts'
import { watchQueueStorage } from '#apps/billing/watch-queue-storage.ts'
import { deleteVectors, readVectors, writeVectors } from '#libs/event-bus/vectors.ts'
import { awaitFitQueue } from '#libs/redis/await-fit-queue.ts'
import { connectRedis } from '#libs/redis/connect-redis.ts'
import { readQueueStorage } from '#libs/redis/queue-storage.ts'
import { watchBusLosses, type BusLoss } from '#libs/redis/watch-bus-losses.ts'
import { createRedis, type TestRedis } from '#test/support/redis.ts'

const ConfigReply = z.array(z.string())
const POLL = { interval: 20 }
const silent = pino({ level: 'silent' })

let server: TestRedis
let redis: Redis

beforeAll(async () => {
  server = await createRedis()
  redis = await connectRedis({
    place: { mode: 'single', url: server.url },
    name: 'test',
    patience: 'bounded',
    log: silent,
  })
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

type Line = { msg: string; problems?: string[]; loss?: string; remedy?: string }

function listen() {
  const lines: Line[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  return { log, lines }
}

/** Changes a setting of the server until the test ends. */
async function set(name: string, value: string): Promise<void> {
  const [, before = ''] = ConfigReply.parse(await redis.config('GET', name))
  await redis.config('SET', name, value)
  onTestFinished(async () => void (await redis.config('SET', name, before)))
}

test('a process waits for a queue Redis that evicts, names the policy, and goes on once it is noeviction', async () => {
  await set('maxmemory-policy', 'allkeys-lru')
  const { log, lines } = listen()
  const waiting = awaitFitQueue(redis, { log })
  await expect
    .poll(() => lines, POLL)
    .toMatchObject([
      {
        msg: 'the queue Redis cannot be used as it is set: waiting for a change',
        problems: [expect.stringMatching(/^its maxmemory-policy is allkeys-lru; set noeviction/)],
      },
    ])
  await redis.config('SET', 'maxmemory-policy', 'noeviction')
  await waiting
  expect(lines).toHaveLength(1)
})

test('the settings are read where CONFIG is forbidden', async () => {
  await redis.acl('SETUSER', 'managed', 'on', '>secret-of-the-test', '~*', '&*', '+@all', '-config')
  const url = new URL(server.url)
  url.username = 'managed'
  url.password = 'secret-of-the-test'
  const place = { mode: 'single', url: url.href } as const
  const managed = await connectRedis({ place, name: 'managed', patience: 'bounded', log: silent })
  onTestFinished(() => managed.disconnect())
  expect(await readQueueStorage(managed)).toEqual([{ policy: 'noeviction', isAppendOnly: true }])
})

test.each([
  { name: 'maxmemory-policy', wrong: 'allkeys-random', right: 'noeviction', metric: 'queueEvicts' },
  { name: 'appendonly', wrong: 'no', right: 'yes', metric: 'queueVolatile' },
] as const)(
  'a $name that changes later is an alarm of billing until it is right again',
  async ({ name, wrong, right, metric }) => {
    const metrics = createMetrics(new Registry(), () => 0)
    const { log, lines } = listen()
    const value = async () => (await metrics[metric].get()).values[0]?.value
    onTestFinished(watchQueueStorage({ redis, everyMs: 20, metrics, log }))
    await expect.poll(value, POLL).toBe(0)
    await set(name, wrong)
    await expect.poll(value, POLL).toBe(1)
    await expect.poll(() => lines[0]?.msg, POLL).toContain(right)
    await redis.config('SET', name, right)
    await expect.poll(value, POLL).toBe(0)
  },
)

/** Watches the server, and resolves after the first look, whose counters are the ones to compare with. */
async function watchLosses() {
  const losses = new Map<BusLoss, number>()
  const { log, lines } = listen()
  // The client sends no INFO of its own.
  const watching = new Redis(server.url, { connectionName: 'watch', enableReadyCheck: false })
  onTestFinished(() => watching.disconnect())
  const stop = watchBusLosses({
    redis: watching,
    everyMs: 20,
    onLoss: (loss, count) => losses.set(loss, (losses.get(loss) ?? 0) + count),
    log,
  })
  onTestFinished(stop)
  await expect.poll(async () => await redis.client('LIST'), POLL).toMatch(/ name=watch .* cmd=info /)
  return { losses, lines }
}

test.for([
  {
    setting: 'client-output-buffer-limit',
    value: 'pubsub 100kb 0 0',
    loss: 'client_output_buffer_limit_disconnections',
    remedy: 'raise client-output-buffer-limit pubsub',
  },
  {
    setting: 'maxmemory-clients',
    value: '1mb',
    loss: 'evicted_clients',
    remedy: 'raise maxmemory-clients',
  },
] as const)(
  'a subscriber that the bus disconnects by $setting is counted, and logged with the setting to raise',
  async ({ setting, value, loss, remedy }, { skip }) => {
    if (!(await redis.info('stats')).includes(loss)) skip(`this server does not report ${loss}`)
    const { losses, lines } = await watchLosses()
    await redis.client('NO-EVICT', 'ON')
    await set(setting, value)
    // A subscriber that reads nothing. The buffers of the system take some megabytes before the buffer of the server grows.
    const subscriber = new Redis(server.url, { retryStrategy: () => null })
    onTestFinished(() => subscriber.disconnect())
    await subscriber.subscribe('mr2:main:gateway:slow')
    subscriber.stream.pause()
    const publish = async () => {
      const messages = redis.pipeline()
      for (let count = 0; count < 50; count += 1)
        messages.publish('mr2:main:gateway:slow', 'x'.repeat(20_000))
      await messages.exec()
      return losses.get(loss)
    }
    await expect.poll(publish, POLL).toBeGreaterThan(0)
    expect(lines[0]).toMatchObject({ loss, remedy })
  },
)

test('vectors that the bus evicts are counted, and a full bus still delivers messages', async () => {
  const { losses, lines } = await watchLosses()
  const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1])
  await set('maxmemory', String(used + 1_000_000))
  await set('maxmemory-policy', 'allkeys-lru')
  const vectors = [new Float32Array(100_000)]
  const keys = Array.from({ length: 10 }, (_, at) => `mr2:main:vectors:{slow}:${at}`)
  for (const key of keys) await writeVectors(redis, key, vectors)
  await expect.poll(() => losses.get('evicted_keys'), POLL).toBeGreaterThan(0)
  expect(lines[0]).toMatchObject({ loss: 'evicted_keys', remedy: 'raise maxmemory' })

  await redis.config('SET', 'maxmemory-policy', 'noeviction')
  await redis.config('SET', 'maxmemory', '1')
  await expect(writeVectors(redis, 'mr2:main:vectors:{slow}:refused', vectors)).rejects.toThrow('OOM')
  const subscriber = new Redis(server.url)
  onTestFinished(() => subscriber.disconnect())
  await subscriber.subscribe('mr2:main:gateway:full')
  const got = new Promise((resolve) => subscriber.once('message', (_, message) => resolve(message)))
  expect(await redis.publish('mr2:main:gateway:full', 'a frame')).toBe(1)
  expect(await got).toBe('a frame')
  for (const key of keys) {
    await readVectors(redis, key, { count: 1, dimensions: 100_000 }).catch(() => null)
    await deleteVectors(redis, key)
  }
})
