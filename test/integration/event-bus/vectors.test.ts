import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createReceiveVectors } from '#apps/gateway/generation/receive-vectors.ts'
import { createDeliverVectors } from '#apps/worker/embedding/deliver-vectors.ts'
import { createRunningGenerations, type RunningGeneration } from '#apps/worker/running-generations.ts'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import { createStreamInbox, StreamLostError } from '#libs/event-bus/stream-inbox.ts'
import { takeVectors, vectorsKey, writeVectors } from '#libs/event-bus/vectors.ts'
import { subscribeControl } from '#libs/event-bus/worker-control.ts'
import { generationJob } from '../../support/generation-job.ts'
import { modelSpec } from '../../support/model-spec.ts'
import { sharedRedis } from '../../support/redis.ts'

let redis: Redis
let gateway: string

beforeEach(() => {
  redis = new Redis(sharedRedis())
  gateway = randomUUID()
})
afterEach(() => redis.disconnect())

const place = (first: number) => vectorsKey({ gateway, stream: 1, epoch: 1, first })
const VECTORS = [Float32Array.of(0.1, -2.5, 3e-38), Float32Array.of(Math.fround(1 / 3), 0, 1)]

function openRun() {
  const events: GenerationEvent[] = []
  const run = createRunningGenerations({
    publisher: { send: (_gateway, { event }) => events.push(event), pulse: () => {}, flush: async () => {} },
    watchGateway: () => {},
    unwatchGateway: () => {},
    nowMs: () => Date.now(),
  }).open(generationJob({ gateway, stream: 1 }), 1)
  return { run, events }
}

test('vectors arrive bit for bit, also from the middle of a larger memory, and are gone once they are taken', async () => {
  const inside = Float32Array.of(9, 9, 1, 2, 3).subarray(2)
  await writeVectors(redis, place(0), [...VECTORS, inside])
  expect(await redis.strlen(place(0))).toBe(3 * 3 * 4)
  expect(await takeVectors(redis, place(0), { count: 3, dimensions: 3 })).toEqual([...VECTORS, inside])
  expect(await redis.exists(place(0))).toBe(0)
  await expect(takeVectors(redis, place(0), { count: 3, dimensions: 3 })).rejects.toThrow('gone')
})

test('vectors that are not taken expire within half a minute', async () => {
  await writeVectors(redis, place(0), VECTORS)
  const leftMs = await redis.pttl(place(0))
  expect(leftMs).toBeGreaterThan(10_000)
  expect(leftMs).toBeLessThanOrEqual(30_000)
})

test('vectors of another length than the catalog states are an error, not other numbers', async () => {
  await writeVectors(redis, place(0), VECTORS)
  await expect(takeVectors(redis, place(0), { count: 2, dimensions: 4 })).rejects.toThrow(
    'its vectors are 24 bytes; 2 of 4 dimensions are 32',
  )
})

test('a delivery ends when its gateway has taken it, and not before', async () => {
  const { deliver, noteTaken } = createDeliverVectors({ redis })
  const { run, events } = openRun()
  let delivered = false
  const delivery = deliver(run, 64, VECTORS).then(() => (delivered = true))
  await vi.waitFor(() => expect(events).toEqual([{ type: 'vectors-ready', first: 64, count: 2 }]))
  noteTaken(place(0))
  expect(await takeVectors(redis, place(64), { count: 2, dimensions: 3 })).toEqual(VECTORS)
  expect(delivered).toBe(false)
  noteTaken(place(64))
  await delivery
})

test('a gateway takes the vectors of an event and reports it to the worker; missing vectors lose the stream', async () => {
  const worker = randomUUID()
  const taken: string[] = []
  const subscriber = redis.duplicate()
  onTestFinished(() => subscriber.disconnect())
  await subscribeControl({
    subscriber,
    worker,
    onCancel: () => {},
    onVectorsTaken: (key) => taken.push(key),
    log: pino({ level: 'silent' }),
  })
  const { inbox } = createStreamInbox(1, () => {})
  inbox.assumeWorker(worker)
  const model = modelSpec({ kind: 'embedding', embedding: { dimensions: 3, matryoshka: false } })
  const take = createReceiveVectors({ redis, gateway })
  const ready = { type: 'vectors-ready', first: 64, count: 2 } as const

  await writeVectors(redis, place(64), VECTORS)
  expect(await take(ready, inbox, model)).toEqual(VECTORS)
  await vi.waitFor(() => expect(taken).toEqual([place(64)]))
  await expect(take(ready, inbox, model)).rejects.toBeInstanceOf(StreamLostError)
  expect(taken).toHaveLength(1)
})

test('a gateway that takes nothing fails the delivery, a stopped run ends it; no key is left', async () => {
  const { deliver } = createDeliverVectors({ redis, takeWithinMs: 50 })
  await expect(deliver(openRun().run, 0, VECTORS)).rejects.toThrow('did not take vectors within 50 ms')

  const patient = createDeliverVectors({ redis })
  const { run, events } = openRun()
  const delivery = patient.deliver(run, 0, VECTORS)
  const stop = vi.waitFor(() => expect(events).toHaveLength(1)).then(() => run.stop('gateway-dead'))
  await expect(delivery).rejects.toThrow('stopped while')
  await stop
  await vi.waitFor(async () => expect(await redis.exists(place(0))).toBe(0))
})

test('the vectors on the bus are bounded over all generations', async () => {
  const { deliver, noteTaken } = createDeliverVectors({ redis })
  const runs: { run: RunningGeneration; events: GenerationEvent[] }[] = Array.from({ length: 12 }, openRun)
  const announced = () => runs.filter(({ events }) => events.length > 0).length
  const deliveries = runs.map(({ run }, at) => deliver(run, at, VECTORS))
  await vi.waitFor(() => expect(announced()).toBe(8))
  const keys = runs.map((_, at) => place(at))
  expect(await redis.exists(...keys)).toBe(8)
  for (const [at, delivery] of deliveries.entries()) {
    await vi.waitFor(() => expect(runs[at]?.events).toHaveLength(1))
    noteTaken(place(at))
    await delivery
  }
})
