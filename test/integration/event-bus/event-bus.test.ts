import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import { gatewayChannel, ordersChannel, workerChannel } from '#libs/event-bus/channels.ts'
import type { FrameEntry } from '#libs/event-bus/frame.ts'
import { createEventPublisher, type EventPublisher } from '#libs/event-bus/publish-events.ts'
import type { InboxEvent, StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import { subscribeEvents, type EventSubscriber } from '#libs/event-bus/subscribe-events.ts'
import {
  createControlSender,
  sendCordon,
  sendDrain,
  sendUncordon,
  subscribeControl,
} from '#libs/event-bus/worker-control.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { createRedis, sharedRedis } from '../../support/redis.ts'
import { claimed, ended, lost, read, text } from '../../unit/libs/event-bus/publishing-worker.ts'

const log = pino({ level: 'silent' })
const connections: Redis[] = []

function connect(url: string, patience: 'fail-fast' | 'patient' = 'patient'): Redis {
  const redis = openRedis({ place: { mode: 'single', url }, name: 'test', patience, log })
  connections.push(redis)
  return redis
}

afterEach(() => {
  for (const redis of connections.splice(0)) redis.disconnect()
})

/** Connects a gateway and a worker to a bus, like their processes do. */
async function join(url: string) {
  const gateway = randomUUID()
  const worker = randomUUID()
  const unreceived: string[] = []
  const seen = { messages: 0, late: 0 }
  const publishing = connect(url, 'fail-fast')
  await expect.poll(() => publishing.status).toBe('ready')
  const publisher = createEventPublisher({
    redis: publishing,
    worker,
    onNoSubscriber: (missed) => unreceived.push(missed),
    onPublish: () => {},
    nowMs: () => Date.now(),
    log,
  })
  await subscribeControl({
    subscriber: connect(url),
    worker,
    isHeld: async () => await Promise.resolve(true),
    onStop: () => {},
    onResend: (from, number) => publisher.resend(from, number),
    onAsk: () => {},
    onAcknowledge: (from, number) => publisher.acknowledge(from, number),
    onVectorsTaken: () => {},
    onHold: () => {},
    onLook: () => {},
    onCount: () => {},
    onDrain: () => {},
    onCordon: () => {},
    onUncordon: () => {},
    log,
  })
  const subscription = connect(url)
  subscription.on('message', (channel: string) => {
    if (channel === gatewayChannel(gateway)) seen.messages += 1
  })
  const control = createControlSender({ redis: connect(url), gateway, onNoSubscriber: () => {}, log })
  const subscriber = await subscribeEvents({
    subscriber: subscription,
    gateway,
    control,
    onLate: (events) => (seen.late += events),
    isLoopLate: () => false,
    log,
  })
  return { gateway, worker, publisher, publishing, subscriber, subscription, unreceived, seen }
}

type Bus = Awaited<ReturnType<typeof join>>

const entry = (of: StreamInbox, seq: number, event: GenerationEvent): FrameEntry => ({
  stream: of.stream,
  epoch: 1,
  seq,
  event,
  ids: event.type === 'text-delta' ? [seq] : [],
})

/** Reads until the stream has ended or is lost. */
async function readAll(inbox: StreamInbox): Promise<InboxEvent[]> {
  const events: InboxEvent[] = []
  for await (const batch of inbox) {
    events.push(...batch)
    if (events.some(({ type }) => type === 'generation-end' || type === 'stream-lost')) break
  }
  return events
}

describe('on a bus that stays', () => {
  let bus: Bus
  let publisher: EventPublisher
  let subscriber: EventSubscriber

  beforeEach(async () => {
    bus = await join(sharedRedis())
    ;({ publisher, subscriber } = bus)
  })

  test('all events of one turn travel in one message, whatever their streams', async () => {
    const inboxes = Array.from({ length: 50 }, () => subscriber.open())
    for (const inbox of inboxes) {
      publisher.send(bus.gateway, [entry(inbox, 1, claimed(bus.worker)), entry(inbox, 2, text('a'))])
      publisher.send(bus.gateway, [entry(inbox, 3, ended)])
    }
    for (const inbox of inboxes) {
      expect(await readAll(inbox)).toEqual([claimed(bus.worker), text('a'), ended])
    }
    expect(bus.seen.messages).toBe(1)
  })

  test('a turn above 256 kB is split between groups, never inside one', async () => {
    const inbox = subscriber.open()
    const sizes: number[] = []
    const parts: number[] = []
    bus.subscription.on('message', (channel: string, message: string) => {
      if (channel !== gatewayChannel(bus.gateway)) return
      sizes.push(message.length)
      parts.push(message.split('x"').length - 1)
    })
    const long = 'y'.repeat(29_999) + 'x'
    publisher.send(bus.gateway, [entry(inbox, 1, claimed(bus.worker))])
    let seq = 1
    const group = (events: number) =>
      Array.from({ length: events }, () => {
        seq += 1
        return entry(inbox, seq, text(long))
      })
    for (let groups = 0; groups < 10; groups += 1) publisher.send(bus.gateway, group(3))
    publisher.send(bus.gateway, group(20))
    publisher.send(bus.gateway, [entry(inbox, seq + 1, ended)])
    expect(await readAll(inbox)).toHaveLength(52)
    expect(parts.filter((events) => events % 3 !== 0)).toEqual([20])
    expect(Math.max(...sizes.filter((_, at) => parts[at] !== 20))).toBeLessThan(262_144)
  })

  test('what was acknowledged is not kept any longer', async () => {
    const inbox = subscriber.open()
    publisher.send(bus.gateway, [entry(inbox, 1, claimed(bus.worker)), entry(inbox, 2, ended)])
    await readAll(inbox)
    expect(publisher.keptBytes()).toBeGreaterThan(0)
    for (let second = 0; second < 5; second += 1) subscriber.tick()
    await expect.poll(() => publisher.keptBytes()).toBe(0)
  })

  test('a frame for a gateway that is gone is noticed', async () => {
    publisher.send('no-such-gateway', [entry(subscriber.open(), 1, text('a'))])
    await expect.poll(() => bus.unreceived).toEqual(['no-such-gateway'])
    publisher.forget('no-such-gateway')
    expect(publisher.keptBytes()).toBe(0)
  })

  test('unreadable text on the channel is skipped', async () => {
    const inbox = subscriber.open()
    await connect(sharedRedis()).publish(gatewayChannel(bus.gateway), 'rubbish')
    publisher.send(bus.gateway, [entry(inbox, 1, claimed(bus.worker)), entry(inbox, 2, ended)])
    expect(await readAll(inbox)).toEqual([claimed(bus.worker), ended])
  })

  test('an event of another release loses its own stream, and no other of the same frame', async () => {
    const [other, well] = [subscriber.open(), subscriber.open()]
    const claims = [other, well].flatMap(({ stream }) => [stream, 1, 1, 0, [1, 0, false], []])
    const unknown = [other.stream, 1, 2, 99, { new: true }, []]
    const end = [well.stream, 1, 2, 6, ['stop', 1, 0, 1, 0], []]
    const frame = [0, bus.worker, 1, ...claims, ...unknown, ...end]
    await connect(sharedRedis()).publish(gatewayChannel(bus.gateway), JSON.stringify(frame))
    expect(await readAll(other)).toEqual([claimed(bus.worker), lost('unreadable')])
    expect(await readAll(well)).toEqual([claimed(bus.worker), ended])
  })

  test('a connection that was cut catches up without a tick or a pulse, and nothing is lost or doubled', async () => {
    const inbox = subscriber.open()
    const all = readAll(inbox)
    publisher.send(bus.gateway, [entry(inbox, 1, claimed(bus.worker))])
    await expect.poll(() => bus.seen.messages).toBe(1)
    bus.subscription.disconnect(true)
    await expect.poll(() => bus.subscription.status).not.toBe('ready')
    for (let seq = 2; seq <= 100; seq += 1) {
      publisher.send(bus.gateway, [entry(inbox, seq, text(`${seq}`))])
      await publisher.flush()
    }
    publisher.send(bus.gateway, [entry(inbox, 101, ended)])
    // There is neither a tick nor a pulse: the new connection alone makes the gateway ask for lost frames.
    expect(await all).toHaveLength(101)
    expect(Array.from(inbox.ids())).toEqual(Array.from({ length: 99 }, (_, at) => at + 2))
  })
})

test('what is published while the bus restarts arrives once it is back', async () => {
  const server = await createRedis()
  onTestFinished(async () => await server.stop())
  const { gateway, worker, publisher, publishing, subscriber } = await join(server.url)
  const [inbox, quiet] = [subscriber.open(), subscriber.open()]
  const all = readAll(inbox)
  publisher.send(gateway, [entry(inbox, 1, claimed(worker))])
  publisher.send(gateway, [entry(quiet, 1, claimed(worker))])
  await publisher.flush()
  await server.kill()
  for (let seq = 2; seq <= 50; seq += 1) {
    publisher.send(gateway, [entry(inbox, seq, text(`${seq}`))])
    await publisher.flush()
  }
  publisher.send(gateway, [entry(quiet, 2, ended)])
  expect(publisher.keptBytes()).toBeGreaterThan(1_000)
  await server.start()
  await expect.poll(() => publishing.status).toBe('ready')
  publisher.send(gateway, [entry(inbox, 51, ended)])
  await publisher.flush()
  const seconds = setInterval(() => {
    subscriber.tick()
    publisher.pulse(gateway, [])
  }, 200)
  onTestFinished(() => clearInterval(seconds))
  expect(await all).toHaveLength(51)
  expect(await readAll(quiet)).toEqual([claimed(worker), ended])
  expect(await read(subscriber.open())).toEqual([])
})

test('control messages reach only their worker; unknown fields and unknown messages are ignored', async () => {
  const worker = randomUUID()
  const received: unknown[] = []
  const absent: string[] = []
  const note =
    (kind: string) =>
    (...message: unknown[]) =>
      received.push([kind, ...message])
  await subscribeControl({
    subscriber: connect(sharedRedis()),
    worker,
    isHeld: async ({ scaler, holder }) => await Promise.resolve(`${scaler} ${holder}` === 'main 3 secret'),
    onStop: note('stop'),
    onResend: note('resend'),
    onAsk: note('ask'),
    onAcknowledge: note('acknowledge'),
    onVectorsTaken: note('vectors-taken'),
    onHold: note('hold'),
    onLook: note('offer'),
    onCount: note('count'),
    onDrain: note('drain'),
    onCordon: note('cordon'),
    onUncordon: note('uncordon'),
    log,
  })
  const redis = connect(sharedRedis())
  const control = createControlSender({
    redis,
    gateway: 'gateway-1',
    onNoSubscriber: (missed) => absent.push(missed),
    log,
  })
  const publish = async (message: string) => await redis.publish(workerChannel(worker), message)
  await publish('rubbish')
  await publish('{"type":"of-another-release"}')
  await publish('{"type":"resend","gateway":"gateway-2","from":3,"new":true}')
  // Orders on the channel of gateways, and a gateway's message on the channel of scalers.
  await publish('{"type":"drain"}')
  await publish('{"type":"cordon","term":null,"forMs":null}')
  await publish('{"type":"cordon","term":3,"forMs":5,"lease":{"scaler":"main","holder":"3 secret"}}')
  await redis.publish(ordersChannel('scaler', worker), '{"type":"drain"}')
  await redis.publish(ordersChannel('operator', worker), '{"type":"resend","gateway":"gateway-3","from":1}')
  const lease = { scaler: 'main', holder: '3 secret' }
  const sent = [
    await control.stop(worker, [{ stream: 4, epoch: 1 }]),
    await control.resend(worker, 7),
    await control.ask(worker, [{ stream: 4, epoch: 2, nonce: 'n' }]),
    await control.acknowledge(worker, 9, [4, 5]),
    await control.vectorsTaken(worker, 'a key'),
    await control.hold(worker, { stream: 4, epoch: 2, amountNano: '9223372036854775807', isFinal: true }),
    await control.count(worker, { id: 'a count', account: 'a', bytes: 2 }),
    await sendDrain(redis, worker),
    await sendCordon(redis, worker, { term: 3, forMs: 10_000, lease }),
    // Orders of scalers that do not lead.
    await sendCordon(redis, worker, { term: 3, forMs: 10_000 }),
    await sendCordon(redis, worker, { term: 4, forMs: 10_000, lease }),
    await sendCordon(redis, worker, { term: 3, forMs: 10_000, lease: { ...lease, scaler: 'other' } }),
    await sendUncordon(redis, worker, { term: 2, lease: { scaler: 'main', holder: '2 secret' } }),
    await sendCordon(redis, worker, { term: null, forMs: null }),
    // A scaler's cordon must have an end and an operator's cordon must not; others are ignored.
    await sendCordon(redis, worker, { term: 4, forMs: null }),
    await sendCordon(redis, worker, { term: null, forMs: 10_000 }),
    await sendUncordon(redis, worker, { term: 3, lease }),
  ]
  expect(sent).not.toContain(false)
  await expect
    .poll(() => received)
    .toEqual([
      ['resend', 'gateway-2', 3],
      ['stop', 'gateway-1', [{ stream: 4, epoch: 1 }]],
      ['resend', 'gateway-1', 7],
      ['ask', 'gateway-1', [{ stream: 4, epoch: 2, nonce: 'n' }]],
      ['acknowledge', 'gateway-1', 9, [4, 5]],
      ['vectors-taken', 'a key'],
      [
        'hold',
        'gateway-1',
        expect.objectContaining({ stream: 4, epoch: 2, amountNano: '9223372036854775807', isFinal: true }),
      ],
      ['count', expect.objectContaining({ gateway: 'gateway-1', id: 'a count' })],
      ['drain'],
      ['cordon', 3, 10_000],
      ['cordon', null, null],
      ['uncordon', 3],
    ])
  expect(await control.stop('no-such-worker', [])).toBe(false)
  expect(await sendDrain(redis, 'no-such-worker')).toBe(false)
  expect(absent).toEqual(['no-such-worker'])
  redis.disconnect()
  expect(await control.resend(worker, 1)).toBe(false)
})
