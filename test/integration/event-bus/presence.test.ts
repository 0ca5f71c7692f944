import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { HEARTBEAT_CHANNEL } from '#libs/event-bus/channels.ts'
import { createPresence, type Heartbeat, type Presence } from '#libs/event-bus/presence.ts'
import { livenessKey } from '#libs/generation-record/keys.ts'
import { createRedis, type TestRedis } from '../../support/redis.ts'

const log = pino({ level: 'silent' })
let queue: TestRedis
let bus: TestRedis
let open: { stop: () => Promise<void> }[]

beforeEach(async () => {
  queue = await createRedis()
  bus = await createRedis()
  open = []
})

afterEach(async () => {
  for (const { stop } of open.toReversed()) await stop()
  await queue.stop()
  await bus.stop()
})

type Member = { presence: Presence; deaths: string[]; received: Heartbeat[]; crash: () => void }

async function join(id: string): Promise<Member> {
  const connect = (url: string) => {
    const redis = new Redis(url, { retryStrategy: () => 100, maxRetriesPerRequest: null })
    redis.on('error', () => {})
    return redis
  }
  const connections = [connect(bus.url), connect(bus.url), connect(queue.url)] as const
  const [publisher, subscriber, store] = connections
  const deaths: string[] = []
  const received: Heartbeat[] = []
  const presence = await createPresence({
    self: { id, kind: 'worker' },
    engines: () => [],
    bus: publisher,
    subscriber,
    queue: store,
    onHeartbeat: (heartbeat) => received.push(heartbeat),
    onDeath: (dead) => deaths.push(dead),
    nowMs: () => Date.now(),
    log,
  })
  const crash = () => {
    for (const redis of connections) redis.disconnect()
  }
  open.push({
    async stop() {
      crash()
      await presence.stop()
    },
  })
  return { presence, deaths, received, crash }
}

test(
  'members receive each other’s heartbeats, and a watched one that crashes is reported dead',
  { timeout: 20_000 },
  async () => {
    const [a, b] = [randomUUID(), randomUUID()]
    const first = await join(a)
    const second = await join(b)
    await vi.waitFor(() => expect(first.received.map(({ id }) => id)).toContain(b), { timeout: 5_000 })
    first.presence.watch(b)
    second.crash()
    await vi.waitFor(() => expect(first.deaths).toEqual([b]), { timeout: 15_000 })
  },
)

test('no process is taken for dead when the bus restarts', { timeout: 30_000 }, async () => {
  const [a, b] = [randomUUID(), randomUUID()]
  const first = await join(a)
  const second = await join(b)
  first.presence.watch(b)
  second.presence.watch(a)
  await bus.kill()
  first.presence.suspect(b)
  // Both keep writing their keys while the bus is away for longer than a silence counts.
  const observer = new Redis(queue.url)
  const from = Date.now()
  await vi.waitFor(
    async () => {
      expect(await observer.exists(livenessKey(a), livenessKey(b))).toBe(2)
      expect(Date.now() - from).toBeGreaterThan(5_000)
    },
    { timeout: 10_000, interval: 500 },
  )
  await bus.start()
  const receivedBefore = first.received.length
  await vi.waitFor(() => expect(first.received.length).toBeGreaterThan(receivedBefore + 2), {
    timeout: 10_000,
  })
  observer.disconnect()
  expect([...first.deaths, ...second.deaths]).toEqual([])
})

test('no process is taken for dead when the queue Redis restarts empty', { timeout: 30_000 }, async () => {
  const [a, b] = [randomUUID(), randomUUID()]
  const first = await join(a)
  const second = await join(b)
  first.presence.watch(b)
  const observer = new Redis(queue.url, { retryStrategy: () => 100 })
  observer.on('error', () => {})
  await vi.waitFor(async () => expect(await observer.exists(livenessKey(b))).toBe(1))
  await observer.flushall()
  await queue.kill()
  await queue.start()
  await vi.waitFor(async () => expect(await observer.exists(livenessKey(b))).toBe(1), { timeout: 10_000 })
  const beats = second.received.length
  await vi.waitFor(() => expect(second.received.length).toBeGreaterThan(beats + 6), { timeout: 10_000 })
  observer.disconnect()
  expect(first.deaths).toEqual([])
})

test('a process that stalls takes no other for dead', { timeout: 40_000 }, async () => {
  const [self, peer] = [randomUUID(), randomUUID()]
  const member = await join(self)
  const [hand, store] = [new Redis(bus.url), new Redis(queue.url)]
  const peerBeats = async () => {
    await hand.publish(HEARTBEAT_CHANNEL, JSON.stringify({ id: peer, kind: 'worker', engines: [] }))
    await store.set(livenessKey(peer), 1, 'PX', 3_000)
  }
  const ownBeats = async (count: number) => {
    const own = () => member.received.filter(({ id }) => id === self).length
    const from = own()
    await vi.waitFor(() => expect(own()).toBeGreaterThanOrEqual(from + count), {
      timeout: 20_000,
      interval: 10,
    })
  }
  member.presence.watch(peer)
  for (let beat = 0; beat < 5; beat += 1) {
    await peerBeats()
    await ownBeats(1)
  }
  // The last heartbeat is a second old; with the stall it and the key are older than three seconds.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_400)
  await ownBeats(2)
  await peerBeats()
  await ownBeats(2)
  expect(member.deaths).toEqual([])

  // It still notices a death afterwards.
  await vi.waitFor(() => expect(member.deaths).toEqual([peer]), { timeout: 15_000 })
  hand.disconnect()
  store.disconnect()
})

test('leaving deletes the liveness key at once', async () => {
  const id = randomUUID()
  const member = await join(id)
  const observer = new Redis(queue.url)
  await vi.waitFor(async () => expect(await observer.exists(livenessKey(id))).toBe(1))
  await member.presence.stop()
  expect(await observer.exists(livenessKey(id))).toBe(0)
  observer.disconnect()
})
