import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createPull, type Pull } from '#apps/worker/intake/pull.ts'
import { createSlots, type Slots } from '#apps/worker/intake/slots.ts'
import { createGenerationRecord } from '#libs/generation-record/generation-record.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { createTicketPull } from '#libs/ticket-queue/pull-tickets.ts'
import { createTicketQueue } from '#libs/ticket-queue/ticket-queue.ts'
import { generationClaim, generationJob, generationLift } from '../../support/generation-job.ts'
import { sharedRedis } from '../../support/redis.ts'

type TestWorker = {
  readonly pull: Pull
  readonly slots: Slots
  /** Each ends one of what runs. */
  readonly running: (() => void)[]
  /** The most slots that were taken at once. */
  readonly state: { most: number }
}

/** One model's queue as a gateway uses it, and workers that pull from it with the real record and tickets. */
async function setUp() {
  const model = `model-${randomUUID()}`
  const log = pino({ level: 'silent' })
  const place = { mode: 'single', url: sharedRedis() } as const
  const redis = openRedis({ place, name: 'test', patience: 'patient', log })
  await redis.ping()
  const record = createGenerationRecord({ redis, self: 'gateway-1', graceMs: 60_000 })
  const tickets = createTicketQueue(redis)
  const claimedIds: string[] = []
  const workers: TestWorker[] = []
  onTestFinished(async () => {
    await Promise.all(workers.map(async ({ pull }) => await pull.close()))
    await tickets.close()
    redis.disconnect()
  })

  function startWorker(capacity: number): TestWorker {
    const worker = randomUUID()
    const slots = createSlots(capacity)
    const running: TestWorker['running'] = []
    const state = { most: 0 }
    const pull = createPull({
      async takeNext() {
        state.most = Math.max(state.most, slots.running())
        const claim = await record.claim(model, generationClaim({ worker }))
        if (claim.status !== 'claimed') return null
        claimedIds.push(claim.id)
        const { promise, resolve } = Promise.withResolvers<void>()
        running.push(resolve)
        return { ended: promise, waiting: claim.waiting }
      },
      slots,
      mayPull: () => true,
      tickets: createTicketPull({ redis, model, log }),
      nowMs: () => performance.now(),
      log,
    })
    const opened = { pull, slots, running, state }
    workers.push(opened)
    return opened
  }

  async function lift() {
    const job = generationJob({ model })
    const lifting = await generationLift(job)
    await Promise.all([record.lift(lifting), tickets.add(model)])
    return job.id
  }

  return { startWorker, lift, claimedIds }
}

test('a burst on two workers with one free slot each: each slot is given once, and each generation runs once', async () => {
  const { startWorker, lift, claimedIds } = await setUp()
  const workers = [startWorker(1), startWorker(1)]
  const ids = await Promise.all(Array.from({ length: 20 }, lift))
  for (let ran = 2; ran <= 20; ran += 1) {
    await expect.poll(() => claimedIds).toHaveLength(ran)
    expect(workers.map(({ slots }) => slots.running())).toEqual([1, 1])
    workers.find(({ running }) => running.length > 0)?.running.shift()?.()
  }
  expect(new Set(claimedIds)).toEqual(new Set(ids))
  expect(workers.map(({ state }) => state.most)).toEqual([1, 1])
})

test('a burst fills all free slots of all workers, and not one more', async () => {
  const { startWorker, lift, claimedIds } = await setUp()
  const workers = [startWorker(5), startWorker(7)]
  await Promise.all(Array.from({ length: 40 }, lift))
  await expect.poll(() => claimedIds).toHaveLength(12)
  expect(workers.map(({ slots }) => slots.running())).toEqual([5, 7])
  expect(workers.map(({ state }) => state.most)).toEqual([5, 7])
  for (const { running } of workers) for (const end of running.splice(0)) end()
  await expect.poll(() => claimedIds).toHaveLength(24)
})
