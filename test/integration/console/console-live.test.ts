import { fastify } from 'fastify'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createCheckViewer } from '#apps/console/live/check-viewer.ts'
import { startLive, type Live } from '#apps/console/live/live.ts'
import { serveLive } from '#apps/console/live/serve-live.ts'
import type { RedisPlace, RedisServerPlace } from '#libs/config/redis-fields.ts'
import { WORKER_BEATS } from '#libs/event-bus/heartbeat.ts'
import { publishSignal } from '#libs/event-bus/scaling-signals.ts'
import { waitingExpiryKey } from '#libs/queue-redis/keys.ts'
import { connectRedis, type RedisPatience } from '#libs/redis/connect-redis.ts'
import { toBeat } from '../../support/heartbeats.ts'
import { createCluster } from '../../support/redis-cluster.ts'
import { createSentinelGroup } from '../../support/redis-sentinel.ts'
import { createRedis } from '../../support/redis.ts'
import { log } from '../billing/support/billing-database.ts'

const WAIT = { interval: 20 }

type Servers = { queue: RedisPlace; bus: RedisServerPlace; killMaster?: () => Promise<void> }

async function startServers(mode: 'single' | 'sentinel' | 'cluster'): Promise<Servers> {
  if (mode === 'sentinel') {
    const group = await createSentinelGroup()
    onTestFinished(group.stop)
    return { queue: group.place, bus: group.place, killMaster: group.killMaster }
  }
  const redis = await createRedis()
  onTestFinished(redis.stop)
  const bus = { mode: 'single', url: redis.url } as const
  if (mode === 'single') return { queue: bus, bus }
  const cluster = await createCluster()
  onTestFinished(cluster.stop)
  return { queue: cluster.place, bus, killMaster: cluster.killMaster }
}

async function connect(place: RedisPlace, patience: RedisPatience) {
  const redis = await connectRedis({ place, name: 'test', patience, log })
  onTestFinished(() => redis.disconnect())
  return redis
}

async function connectBus(place: RedisServerPlace, patience: RedisPatience) {
  const redis = await connectRedis({ place, name: 'test', patience, log })
  onTestFinished(() => redis.disconnect())
  return redis
}

/** Opens the live picture of these servers, watched by one viewer. */
async function follow({ queue, bus }: Servers): Promise<Live> {
  const live = await startLive({
    servers: [{ bus: await connectBus(bus, 'fail-fast'), subscriber: await connectBus(bus, 'patient') }],
    queue: await connect(queue, 'fail-fast'),
    nowMs: () => performance.now(),
    unixMs: () => Date.now(),
    log,
  })
  onTestFinished(() => live.stop())
  live.streams.add('now', { write: () => true, onDrain: () => {} })
  return live
}

test.each(['single', 'sentinel', 'cluster'] as const)(
  'with Redis as %s the picture has what waits in each queue and who is on the bus, after a failover too',
  async (mode) => {
    const servers = await startServers(mode)
    const live = await follow(servers)
    const writer = await connect(servers.queue, 'patient')
    const publisher = await connectBus(servers.bus, 'patient')
    /** Publishes one worker for each model, and writes this many waiting generations. */
    async function write(waiting: Readonly<Record<string, number>>) {
      for (const [model, count] of Object.entries(waiting)) {
        const beat = toBeat({ id: `worker ${model}` }, { model })
        await publishSignal({ redis: publisher, log }, WORKER_BEATS, beat)
        for (let each = 0; each < count; each += 1)
          await writer.zadd(waitingExpiryKey(model), each, `${each}`)
      }
    }
    const read = () => Object.fromEntries(live.picture.rows().map((row) => [row.id, row.waiting]))
    async function expectPicture(waiting: Readonly<Record<string, number>>) {
      const writeAndRead = async () => {
        await write(waiting)
        return read()
      }
      await expect.poll(writeAndRead, WAIT).toEqual(waiting)
    }

    await expectPicture({ 'demo-chat': 1, one: 2, two: 3, three: 0, four: 4 })
    expect(live.isComplete()).toBe(true)
    if (servers.killMaster === undefined) return
    await servers.killMaster()
    // The numbers are higher than before, so they cannot be from the last answer.
    await expectPicture({ 'demo-chat': 5, one: 6, two: 7, three: 3, four: 8 })
    expect(live.read('now')).toMatchObject({ sources: { busAwayMs: 0, queueAwayMs: 0 } })
    // This worker was not there before, so its report came over the new connection to the bus.
    await expectPicture({ 'demo-chat': 5, one: 6, two: 7, three: 3, four: 8, five: 1 })
  },
)

describe('an open stream', () => {
  /** Starts a server with one viewer's open stream. `state.answer` is billing's answer about the viewer's token. */
  async function openStream() {
    const redis = await createRedis()
    onTestFinished(redis.stop)
    const place = { mode: 'single', url: redis.url } as const
    const live = await follow({ queue: place, bus: place })
    const state: { answer: number | null; asked: number } = { answer: 200, asked: 0 }
    let nowMs = 0
    const check = createCheckViewer({
      async askWhoami() {
        state.asked += 1
        if (state.answer === null) throw new Error('billing is away')
        return state.answer
      },
      // The clock jumps at each reading, so that each question reaches billing: an answer counts for 5 s.
      nowMs: () => (nowMs += 10_000),
    })
    const app = fastify()
    serveLive(app, {
      live,
      async authorize() {
        if ((await check('token')) !== 'accepted') throw new Error('refused')
      },
      isRevoked: async () => (await check('token')) === 'refused',
      unixMs: () => Date.now(),
      checkEveryMs: 20,
    })
    const origin = await app.listen({ host: '127.0.0.1', port: 0 })
    onTestFinished(async () => await app.close())
    const response = await fetch(`${origin}/live/v1/stream?view=now`)
    expect(response.status).toBe(200)
    let isOpen = true
    const ended = response.text().finally(() => (isOpen = false))
    return { live, state, ended, isOpen: () => isOpen }
  }

  test('ends when billing refuses its viewer, and is a viewer no more', async () => {
    const { live, state, ended } = await openStream()
    expect(live.streams.viewers()).toBe(2)
    state.answer = 401
    expect(await ended).toMatch(/^event: snapshot\n/)
    await expect.poll(() => live.streams.viewers(), WAIT).toBe(1)
  })

  test('goes on while billing does not answer, and ends when it answers that the session is over', async () => {
    const { state, ended, isOpen } = await openStream()
    state.answer = null
    const { asked } = state
    await expect.poll(() => state.asked, WAIT).toBeGreaterThan(asked + 3)
    expect(isOpen()).toBe(true)
    state.answer = 401
    await ended
  })
})
