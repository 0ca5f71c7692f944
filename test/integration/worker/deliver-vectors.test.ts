import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { createDeliverVectors, VectorsNotTaken } from '#apps/worker/run/embedding/deliver-vectors.ts'
import { readVectors, vectorsKey } from '#libs/event-bus/vectors.ts'
import { generationJob } from '../../support/generation-job.ts'
import { test } from '../../support/shared-redis-test.ts'
import { claimedGeneration, runningUnderTest } from '../../unit/apps/worker/run/running-under-test.ts'

const VECTORS = [Float32Array.of(0.1, -2.5, 3e-38), Float32Array.of(Math.fround(1 / 3), 0, 1)]
const worker = 'worker-1'

const gateway = randomUUID()

const place = (first: number, stream = 1) => vectorsKey({ gateway, worker, stream, epoch: 1, first })
const chunk = (first: number) => ({ first, promptTokens: 7, vectors: VECTORS })

function openRun(stream = 1) {
  const { running, events } = runningUnderTest()
  const run = running.open(claimedGeneration(generationJob({ gateway, stream })), () => {})
  return { run, events }
}

test('a delivery ends when its gateway has taken it, not before, and leaves no key', async ({ redis }) => {
  const { deliver, noteTaken } = createDeliverVectors({ redisOf: () => redis, worker })
  const { run, events } = openRun()
  let delivered = false
  const delivery = deliver(run, chunk(64)).then(() => (delivered = true))
  const ready = { type: 'vectors-ready', first: 64, count: 2, promptTokens: 7 }
  await expect.poll(() => events()).toEqual([ready])
  noteTaken(place(0))
  expect(await readVectors(redis, place(64), { count: 2, dimensions: 3 })).toEqual(VECTORS)
  expect(delivered).toBe(false)
  noteTaken(place(64))
  await delivery
  await expect.poll(async () => await redis.exists(place(64))).toBe(0)
})

test('a gateway that takes nothing fails the delivery, a stopped run ends it; no key is left', async ({
  redis,
}) => {
  const { deliver } = createDeliverVectors({ redisOf: () => redis, worker, takeWithinMs: 50 })
  await expect(deliver(openRun().run, chunk(0))).rejects.toBeInstanceOf(VectorsNotTaken)

  const patient = createDeliverVectors({ redisOf: () => redis, worker })
  const { run, events } = openRun()
  const delivery = patient.deliver(run, chunk(0))
  const ending = Promise.allSettled([delivery])
  await expect.poll(() => events()).toHaveLength(1)
  run.stop('gateway-dead')
  expect(await ending).toMatchObject([
    { status: 'rejected', reason: { message: expect.stringContaining('stopped while') } },
  ])
  await expect.poll(async () => await redis.exists(place(0))).toBe(0)
})

test('the vectors on the bus are bounded over all generations', async ({ redis }) => {
  const { deliver, noteTaken } = createDeliverVectors({ redisOf: () => redis, worker })
  const runs = Array.from({ length: 12 }, (_, stream) => openRun(stream))
  const announced = () => runs.filter(({ events }) => events().length > 0).length
  const deliveries = runs.map(({ run }) => deliver(run, chunk(0)))
  await expect.poll(() => announced()).toBe(8)
  expect(await redis.exists(...runs.map((_, stream) => place(0, stream)))).toBe(8)
  for (const [stream, delivery] of deliveries.entries()) {
    await expect.poll(() => runs[stream]?.events()).toHaveLength(1)
    noteTaken(place(0, stream))
    await delivery
  }
})
