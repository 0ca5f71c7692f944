import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import { gatewayChannel } from '#libs/event-bus/channels.ts'
import { createEventPublisher, type EventPublisher } from '#libs/event-bus/publish-events.ts'
import { subscribeEvents, type EventSubscriber } from '#libs/event-bus/subscribe-events.ts'
import {
  sendCancel,
  sendVectorsTaken,
  subscribeControl,
  type StreamEpoch,
} from '#libs/event-bus/worker-control.ts'
import { sharedRedis } from '../../support/redis.ts'

const log = pino({ level: 'silent' })
const connections: Redis[] = []

function connect(): Redis {
  const redis = new Redis(sharedRedis())
  connections.push(redis)
  return redis
}

let gateway: string
let messages: number
let unreceived: string[]
let strays: StreamEpoch[]
let publisher: EventPublisher
let subscriber: EventSubscriber

beforeEach(async () => {
  gateway = randomUUID()
  messages = 0
  unreceived = []
  strays = []
  const subscription = connect()
  subscription.on('message', (channel: string) => {
    if (channel === gatewayChannel(gateway)) messages += 1
  })
  subscriber = await subscribeEvents({
    subscriber: subscription,
    gateway,
    onStray: (_worker, streams) => strays.push(...streams.map(({ stream, epoch }) => ({ stream, epoch }))),
    log,
  })
  publisher = createEventPublisher({
    redis: connect(),
    worker: 'worker-1',
    onNoSubscriber: (missed) => unreceived.push(missed),
    onPublish: () => {},
    log,
  })
})

afterEach(() => {
  for (const redis of connections.splice(0)) redis.disconnect()
})

const text = (content: string): GenerationEvent => ({ type: 'text-delta', text: content })

test('all events of one turn travel in one message, whatever their streams', async () => {
  const inboxes = Array.from({ length: 50 }, () => subscriber.open())
  for (const { stream } of inboxes) {
    publisher.send(gateway, { stream, epoch: 1, seq: 1, event: text('a'), ids: [1] })
    publisher.send(gateway, { stream, epoch: 1, seq: 2, event: text('b'), ids: [2] })
  }
  for (const inbox of inboxes) {
    const { value } = await inbox[Symbol.asyncIterator]().next()
    expect(value).toEqual([text('a'), text('b')])
  }
  expect(messages).toBe(1)
})

test('a turn above 256 kB is split, in order', async () => {
  const inbox = subscriber.open()
  const long = 'x'.repeat(30_000)
  for (let seq = 1; seq <= 20; seq += 1) {
    publisher.send(gateway, { stream: inbox.stream, epoch: 1, seq, event: text(long), ids: [] })
  }
  let received = 0
  for await (const batch of inbox) {
    received += batch.length
    if (received === 20) break
  }
  expect(messages).toBeGreaterThan(3)
})

test('events of a closed stream are reported as strays', async () => {
  const inbox = subscriber.open()
  inbox.close()
  publisher.send(gateway, { stream: inbox.stream, epoch: 1, seq: 1, event: text('a'), ids: [] })
  await vi.waitFor(() => expect(strays).toEqual([{ stream: inbox.stream, epoch: 1 }]))
})

test('a pulse fails a stream whose end was lost, and one that its worker does not know', async () => {
  const claimed: GenerationEvent = { type: 'generation-claimed', worker: 'worker-1', promptTokens: 1 }
  const behind = subscriber.open()
  const unknown = subscriber.open()
  const well = subscriber.open()
  for (const { stream } of [behind, unknown, well]) {
    publisher.send(gateway, { stream, epoch: 1, seq: 1, event: claimed, ids: [] })
  }
  publisher.pulse(gateway, [
    { stream: behind.stream, epoch: 1, lastSeq: 2, running: false },
    { stream: well.stream, epoch: 1, lastSeq: 1, running: true },
  ])
  for (const inbox of [behind, unknown]) {
    const events = inbox[Symbol.asyncIterator]()
    await events.next()
    await expect(events.next()).rejects.toThrow('the stream is lost')
  }
  publisher.send(gateway, { stream: well.stream, epoch: 1, seq: 2, event: text('on'), ids: [] })
  const received: GenerationEvent[] = []
  for await (const batch of well) {
    received.push(...batch)
    if (received.length === 2) break
  }
  expect(received).toEqual([claimed, text('on')])
})

test('a pulse of a running stream that is closed here is answered, an ended one is not', async () => {
  publisher.pulse(gateway, [
    { stream: 77, epoch: 2, lastSeq: 5, running: true },
    { stream: 78, epoch: 1, lastSeq: 5, running: false },
  ])
  await vi.waitFor(() => expect(strays).toEqual([{ stream: 77, epoch: 2 }]))
})

test('a dead worker fails its own streams and no others', async () => {
  const mine = subscriber.open()
  const other = subscriber.open()
  const claim = (stream: number, worker: string) => {
    publisher.send(gateway, {
      stream,
      epoch: 1,
      seq: 1,
      event: { type: 'generation-claimed', worker, promptTokens: 1 },
      ids: [],
    })
  }
  claim(mine.stream, 'worker-1')
  claim(other.stream, 'worker-1')
  await mine[Symbol.asyncIterator]().next()
  other.expectEpoch(2)
  subscriber.failWorker('worker-1', 'it died')
  await expect(mine[Symbol.asyncIterator]().next()).rejects.toThrow('it died')
  publisher.send(gateway, { stream: other.stream, epoch: 2, seq: 1, event: text('a'), ids: [] })
  await vi.waitFor(async () => {
    const { value } = await other[Symbol.asyncIterator]().next()
    expect(value).toContainEqual(text('a'))
  })
})

test('a frame for a gateway that is gone is noticed', async () => {
  publisher.send('no-such-gateway', { stream: 1, epoch: 1, seq: 1, event: text('a'), ids: [] })
  await vi.waitFor(() => expect(unreceived).toEqual(['no-such-gateway']))
})

test('unreadable text on the channel is skipped', async () => {
  const inbox = subscriber.open()
  await connect().publish(gatewayChannel(gateway), 'rubbish')
  publisher.send(gateway, { stream: inbox.stream, epoch: 1, seq: 1, event: text('a'), ids: [] })
  expect((await inbox[Symbol.asyncIterator]().next()).value).toEqual([text('a')])
})

test('a cancel, and the report that vectors were taken, reach only their worker', async () => {
  const worker = randomUUID()
  const cancelled: unknown[] = []
  const taken: string[] = []
  await subscribeControl({
    subscriber: connect(),
    worker,
    onCancel: (from, streams) => cancelled.push([from, streams]),
    onVectorsTaken: (key) => taken.push(key),
    log,
  })
  expect(await sendCancel(connect(), worker, { gateway, streams: [{ stream: 4, epoch: 1 }] })).toBe(true)
  await vi.waitFor(() => expect(cancelled).toEqual([[gateway, [{ stream: 4, epoch: 1 }]]]))
  await sendVectorsTaken(connect(), worker, 'a key')
  await vi.waitFor(() => expect(taken).toEqual(['a key']))
  expect(cancelled).toHaveLength(1)
  expect(await sendCancel(connect(), 'no-such-worker', { gateway, streams: [] })).toBe(false)
})
