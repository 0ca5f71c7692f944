import { pino } from 'pino'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createWorkerBus, type WorkerBus } from '#apps/worker/worker-bus.ts'
import { gatewayChannel } from '#libs/event-bus/channels.ts'
import { createPresence, type Presence } from '#libs/event-bus/presence.ts'
import { createControlSender } from '#libs/event-bus/worker-control.ts'
import { toBusServer } from '#libs/redis/bus-server.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { toBeat } from '../../support/heartbeats.ts'
import { createRedis, sharedRedis, type TestRedis } from '../../support/redis.ts'
import { text } from '../../unit/libs/event-bus/publishing-worker.ts'

// The bus has two servers, with a gateway on each, and one worker.

const WAIT = { interval: 20 }
const TTL_MS = 900
const WORKER = `worker-${crypto.randomUUID()}`
const log = pino({ level: 'silent' })

type Gateway = { id: string; frames: string[]; presence: Presence }

let servers: [TestRedis, TestRedis]
let bus: WorkerBus
let gateways: [Gateway, Gateway]
const closers: (() => unknown)[] = []
const onResend = vi.fn<(gateway: string, from: number) => void>()
const onDeath = vi.fn<(id: string) => void>()

beforeAll(async () => {
  servers = [await createRedis(), await createRedis()]
  const connections = (server: TestRedis) => ({ bus: open(server.url), subscriber: open(server.url) })
  bus = await createWorkerBus({
    servers: [connections(servers[0]), connections(servers[1])],
    worker: WORKER,
    presence: {
      ttlMs: TTL_MS,
      heartbeat: () => toBeat({ id: WORKER }),
      queue: open(sharedRedis()),
      onDeath,
      onCutOff: () => {},
      nowMs: Date.now,
      times: { gatewayExtraMs: 0, listenFirstMs: 0 },
      log,
    },
    publisher: { onPublish: () => {} },
    nowMs: Date.now,
    log,
  })
  closers.push(bus.presence.stop)
  await bus.subscribe({
    isHeld: async () => await Promise.resolve(true),
    onStop: () => {},
    onResend,
    onAsk: () => {},
    onAcknowledge: () => {},
    onVectorsTaken: () => {},
    onHold: () => {},
    onLook: () => {},
    onCount: () => {},
    onDrain: () => {},
    onCordon: () => {},
    onUncordon: () => {},
  })
  gateways = [await startGateway(servers[0]), await startGateway(servers[1])]
})
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
  await Promise.all(servers.map((server) => server.stop()))
})

test('frames go to the server of their gateway, heartbeats to all', async () => {
  for (const { id } of gateways) bus.publisher.send(id, [frame(`for ${id}`)])
  for (const { id, frames } of gateways) {
    await expect.poll(() => frames.join(), WAIT).toContain(`for ${id}`)
    expect(frames).toHaveLength(1)
  }
  for (const { presence } of gateways) {
    await expect.poll(() => presence.peers().map(({ id }) => id), WAIT).toContain(WORKER)
  }
  const heard = () => bus.presence.peers().map(({ id }) => id)
  await expect.poll(heard, WAIT).toEqual(expect.arrayContaining(gateways.map(({ id }) => id)))
})

test('control messages of all gateways are received', async () => {
  for (const [index, { id }] of gateways.entries()) {
    const redis = open(servers[index]?.url ?? '')
    const control = createControlSender({ redis, gateway: id, onNoSubscriber: () => {}, log })
    expect(await control.resend(WORKER, index)).toBe(true)
    await expect.poll(() => onResend.mock.calls, WAIT).toContainEqual([id, index])
  }
})

test('vectors lie on the server of their gateway', () => {
  const [first, second] = gateways.map(({ id }) => bus.redisOf(id).options.port)
  expect([first, second]).toEqual(servers.map(({ url }) => Number(new URL(url).port)))
})

test('while one server is away the gateways of the other go on, and no process is taken for dead', async () => {
  await servers[1].stop()
  await expect.poll(() => bus.presence.busAwayMs(), WAIT).toBeGreaterThan(0)
  bus.publisher.send(gateways[0].id, [frame('meanwhile')])
  bus.publisher.send(gateways[1].id, [frame('later')])
  await expect.poll(() => gateways[0].frames.join(), WAIT).toContain('meanwhile')
  expect(onDeath).not.toHaveBeenCalled()
  expect(bus.presence.buried()).toEqual([])
  expect(bus.publisher.keptBytes()).toBeGreaterThan('later'.length)

  await servers[1].start()
  await expect.poll(() => bus.presence.busAwayMs(), WAIT).toBe(0)
  // Requests the frames repeatedly, like a gateway, because the gateway's own subscription may not be restored yet.
  const receivedAgain = () => {
    expect(bus.publisher.resend(gateways[1].id, 2)).toBeGreaterThan(0)
    return gateways[1].frames.join()
  }
  await expect.poll(receivedAgain, { ...WAIT, interval: 200 }).toContain('later')
})

async function startGateway(server: TestRedis): Promise<Gateway> {
  const id = findGateway(server)
  const subscriber = open(server.url)
  const frames: string[] = []
  subscriber.on('message', (channel, message) => {
    if (channel === gatewayChannel(id)) frames.push(message)
  })
  await subscriber.subscribe(gatewayChannel(id))
  const presence = await createPresence({
    ttlMs: TTL_MS,
    heartbeat: () => ({ kind: 'gateway', id, name: 'gateway', late: false }),
    bus: open(server.url),
    subscriber,
    queue: open(sharedRedis()),
    onHeartbeat: () => {},
    onDeath: () => {},
    onCutOff: () => {},
    nowMs: Date.now,
    log,
  })
  closers.push(presence.stop)
  return { id, frames, presence }
}

/** Returns a boot id of a gateway that uses this server of the bus. */
function findGateway(server: TestRedis): string {
  for (;;) {
    const id = `gateway-${crypto.randomUUID()}`
    if (toBusServer(id, servers) === server) return id
  }
}

const frame = (content: string) => ({ stream: 1, epoch: 1, seq: 1, event: text(content), ids: [1] })

function open(url: string) {
  const redis = openRedis({ place: { mode: 'single', url }, name: 'test', patience: 'patient', log })
  closers.unshift(() => redis.disconnect())
  return redis
}
