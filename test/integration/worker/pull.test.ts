import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createPull, type Pull } from '#apps/worker/intake/pull.ts'
import { createSlots, type Slots } from '#apps/worker/intake/slots.ts'
import { createCountWaiting } from '#libs/generation-record/count-waiting.ts'
import { createGenerationRecord } from '#libs/generation-record/generation-record.ts'
import { NO_SEATS } from '#libs/generation-record/seats.ts'
import { createJobQueue, openJobQueue } from '#libs/job-queue/job-queue.ts'
import { createJobPull } from '#libs/job-queue/pull-jobs.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { generationClaim, generationJob, generationEnqueue, queuedJob } from '../../support/generation-job.ts'
import { sharedRedis } from '../../support/redis.ts'

type TestWorker = {
  readonly pull: Pull
  readonly slots: Slots
  /** One function per running generation, which ends it. */
  readonly running: (() => void)[]
  /** The most slots that were taken at once. */
  readonly state: { most: number }
}

/** Sets up one model's queue as a gateway uses it, and workers that pull from it, with the real record and jobs. */
async function setUp() {
  const model = `model-${randomUUID()}`
  const log = pino({ level: 'silent' })
  const place = { mode: 'single', url: sharedRedis() } as const
  const redis = openRedis({ place, name: 'test', patience: 'patient', log })
  await redis.ping()
  const record = createGenerationRecord({ redis, self: 'gateway-1', graceMs: 60_000 })
  const countWaiting = createCountWaiting(redis)
  const jobs = createJobQueue({ redis, countWaiting })
  const bull = openJobQueue(redis, model)
  const claimedIds: string[] = []
  const workers: TestWorker[] = []
  onTestFinished(async () => {
    await Promise.all(workers.map(async ({ pull }) => await pull.close()))
    await Promise.all([jobs.close(), bull.close()])
    redis.disconnect()
  })

  function startWorker(capacity: number, worker: string = randomUUID()): TestWorker {
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
      jobs: createJobPull({ redis, model, log }),
      onPause: () => {},
      log,
    })
    const opened = { pull, slots, running, state }
    workers.push(opened)
    return opened
  }

  /** Enqueues a turn that waits for this worker. It has no job. */
  async function enqueueHomed(home: string, heldMs: number) {
    const job = generationJob({ model })
    const seats = { ...NO_SEATS, taken: ['seat'], otherwise: home, heldMs }
    expect(await record.enqueue(await generationEnqueue(job, { seats }))).toMatchObject({
      home: { worker: home },
    })
    return queuedJob(model, job.id)
  }

  async function enqueue() {
    const job = generationJob({ model })
    const enqueueing = await generationEnqueue(job)
    await Promise.all([record.enqueue(enqueueing), jobs.add(queuedJob(model, job.id))])
    return job.id
  }

  /** Returns the numbers of waiting jobs, of jobs that a worker has taken, and of waiting generations. */
  const counts = async () => [
    await bull.getWaitingCount(),
    await bull.getActiveCount(),
    (await countWaiting(model)).count,
  ]

  return { startWorker, enqueue, enqueueHomed, jobs, claimedIds, counts }
}

test('a burst on two workers with one free slot each: each slot is given once, and each generation runs once', async () => {
  const { startWorker, enqueue, claimedIds, counts } = await setUp()
  const workers = [startWorker(1), startWorker(1)]
  const ids = await Promise.all(Array.from({ length: 20 }, enqueue))
  for (let ran = 2; ran <= 20; ran += 1) {
    await expect.poll(() => claimedIds).toHaveLength(ran)
    expect(workers.map(({ slots }) => slots.running())).toEqual([1, 1])
    workers.find(({ running }) => running.length > 0)?.running.shift()?.()
  }
  expect(new Set(claimedIds)).toEqual(new Set(ids))
  expect(workers.map(({ state }) => state.most)).toEqual([1, 1])
  await expect.poll(counts).toEqual([0, 0, 0])
})

test('a burst fills all free slots of all workers, and not one more', async () => {
  const { startWorker, enqueue, claimedIds, counts } = await setUp()
  const workers = [startWorker(5), startWorker(7)]
  await Promise.all(Array.from({ length: 40 }, enqueue))
  await expect.poll(() => claimedIds).toHaveLength(12)
  expect(workers.map(({ slots }) => slots.running())).toEqual([5, 7])
  expect(workers.map(({ state }) => state.most)).toEqual([5, 7])
  await expect.poll(counts).toEqual([28, 0, 28])
  for (const { running } of workers) for (const end of running.splice(0)) end()
  await expect.poll(() => claimedIds).toHaveLength(24)
  await expect.poll(counts).toEqual([16, 0, 16])
})

test('a turn is claimed by its home, which is asked to look, without a job', async () => {
  const { startWorker, enqueueHomed, claimedIds, counts } = await setUp()
  const { pull } = startWorker(1, 'home')
  const { data } = await enqueueHomed('home', 2_000)
  pull.look()
  await expect.poll(() => claimedIds).toEqual([data.generation])
  expect(await counts()).toEqual([0, 0, 0])
})

test('a turn whose home does not claim it goes to a worker that waits for jobs', async () => {
  const { startWorker, enqueueHomed, enqueue, jobs, claimedIds, counts } = await setUp()
  await enqueue()
  startWorker(1).running.shift()?.()
  await expect.poll(() => claimedIds).toHaveLength(1)
  const job = await enqueueHomed('gone', 1)
  startWorker(1)
  await jobs.add(job)
  await expect.poll(() => claimedIds).toContain(job.data.generation)
  await expect.poll(counts).toEqual([0, 0, 0])
})
