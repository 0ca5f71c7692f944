import { randomUUID } from 'node:crypto'
import type { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { modelPrefix } from '#libs/queue-redis/keys.ts'
import { createJobQueue, openJobQueue, type JobQueue } from '#libs/job-queue/job-queue.ts'
import { createJobPull, type Turn } from '#libs/job-queue/pull-jobs.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { createLogger } from '#libs/telemetry/logger.ts'
import { queuedJob } from '../../support/generation-job.ts'
import { sharedRedis } from '../../support/redis.ts'

let redis: Redis
let jobs: JobQueue
/** The number of waiting generations that the record would return. */
let waiting = 1_000

beforeAll(async () => {
  redis = new Redis(sharedRedis(), { maxRetriesPerRequest: null })
  await redis.ping()
  jobs = createJobQueue({ redis, countWaiting: async () => ({ count: waiting }) })
})

afterAll(async () => {
  await jobs.close()
  redis.disconnect()
})

const newModel = () => `model-${randomUUID()}`

/** Opens a model's queue with BullMQ itself. */
function openBull(model: string): Queue {
  const bull = openJobQueue(redis, model)
  onTestFinished(async () => await bull.close())
  return bull
}

/** Opens a worker that can wait for jobs of `model`. */
function openPull(model: string) {
  const log = createLogger('test', 'silent')
  const place = { mode: 'single', url: sharedRedis() } as const
  const patient = openRedis({ place, name: 'test', patience: 'patient', log })
  const pull = createJobPull({ redis: patient, model, log })
  onTestFinished(async () => {
    await pull.close()
    patient.disconnect()
  })
  return pull
}

/** Starts a worker that takes a job, completes it and waits again. */
function takeAlways(model: string) {
  const pull = openPull(model)
  const state = { taken: 0, stop: false }
  onTestFinished(() => void (state.stop = true))
  void (async () => {
    while (!state.stop) {
      const turn = await pull.next()
      if (turn === null) continue
      state.taken += 1
      turn.done()
    }
  })()
  return state
}

async function nextJob(pull: { next(): Promise<Turn | null> }): Promise<Turn> {
  for (;;) {
    const turn = await pull.next()
    if (turn !== null) return turn
  }
}

/** Resolves when `count` workers wait. */
async function untilWaiting(count: number) {
  const blocked = async () =>
    String(await redis.client('LIST'))
      .split('\n')
      .filter((line) => /cmd=bzpopmin/u.test(line)).length
  await expect.poll(blocked).toBeGreaterThanOrEqual(count)
}

const counts = async (bull: Queue) => await bull.getJobCounts('waiting', 'active', 'completed', 'failed')
const NOTHING = { waiting: 0, active: 0, completed: 0, failed: 0 }

test('each job goes to one of the workers that wait, and leaves nothing behind', async () => {
  const model = newModel()
  const workers = [takeAlways(model), takeAlways(model)]
  const taken = () => workers.reduce((sum, worker) => sum + worker.taken, 0)
  await untilWaiting(2)
  for (let added = 1; added <= 6; added += 1) {
    await jobs.add(queuedJob(model))
    await expect.poll(taken).toBe(added)
  }
  const bull = openBull(model)
  await expect.poll(async () => await counts(bull)).toEqual(NOTHING)
  expect(await redis.xlen(`${modelPrefix(model)}generations:events`)).toBeLessThan(10)
})

test('jobs that no worker waits for are there for the next one, each once, as operators see them', async () => {
  const model = newModel()
  const job = queuedJob(model)
  await Promise.all([jobs.add(job), jobs.add(job), jobs.add(queuedJob(model)), jobs.add(queuedJob(model))])
  const bull = openBull(model)
  expect(await counts(bull)).toEqual({ ...NOTHING, waiting: 3 })
  expect(await bull.getJob(job.id)).toMatchObject({ name: 'chat', data: job.data })
  const worker = takeAlways(model)
  await expect.poll(() => worker.taken).toBe(3)
  await expect.poll(async () => await counts(bull)).toEqual(NOTHING)
})

test('a job that is passed on goes to another worker', async () => {
  const model = newModel()
  const job = queuedJob(model)
  await jobs.add(job)
  await (await nextJob(openPull(model))).pass()
  const bull = openBull(model)
  expect(await counts(bull)).toEqual({ ...NOTHING, waiting: 1 })
  expect(await bull.getJob(job.id)).toMatchObject({ name: 'chat', data: job.data })
  const second = takeAlways(model)
  await expect.poll(() => second.taken).toBe(1)
})

test('a look completes the job before it and takes the next, also where an operator has removed the one before', async () => {
  const model = newModel()
  const added = ['first', 'second', 'third'].map((generation) => queuedJob(model, generation))
  for (const job of added) await jobs.add(job)
  const bull = openBull(model)
  const pull = openPull(model)
  ;(await pull.take())?.done()
  const second = await pull.take()
  expect(await counts(bull)).toEqual({ ...NOTHING, waiting: 1, active: 1 })
  expect(await bull.remove(added[1]?.id ?? '')).toBe(1)
  second?.done()
  expect(await pull.take()).not.toBeNull()
  expect(await counts(bull)).toEqual({ ...NOTHING, active: 1 })
})

test('a job that was taken away reaches no worker; one that is not there is no error', async () => {
  const model = newModel()
  const [first, second] = [queuedJob(model), queuedJob(model)]
  await jobs.add(first)
  await jobs.add(second)
  await jobs.remove(first)
  await jobs.remove(first)
  const bull = openBull(model)
  expect((await bull.getWaiting()).map(({ id }) => id)).toEqual([second.id])
})

test('in place of a lost job another is added only where none waits', async () => {
  const model = newModel()
  expect(await jobs.addIfNoneWaits(queuedJob(model))).toBe(true)
  expect(await jobs.addIfNoneWaits(queuedJob(model))).toBe(false)
  expect(await openBull(model).getWaitingCount()).toBe(1)
})

test('a job that its worker died with is put back for another, and none is failed for it', async () => {
  const model = newModel()
  await jobs.add(queuedJob(model))
  const dying = openPull(model)
  await nextJob(dying)
  await dying.close()
  const bull = openBull(model)
  expect(await counts(bull)).toEqual({ ...NOTHING, active: 1 })
  // Runs two checks for stalled jobs, which BullMQ makes every 5 s: the first one marks the job, the second one puts it
  // back.
  for (let check = 0; check < 2; check += 1) {
    await redis.del(bull.toKey('stalled-check'))
    const checking = openPull(model)
    await expect.poll(async () => await redis.exists(bull.toKey('stalled-check'))).toBe(1)
    await checking.close()
  }
  const worker = takeAlways(model)
  await expect.poll(() => worker.taken).toBe(1)
  await expect.poll(async () => await counts(bull)).toEqual(NOTHING)
})

test('jobs that outnumber the generations that wait are removed, the oldest first, but no young ones', async () => {
  const model = newModel()
  const bull = openBull(model)
  const old = { timestamp: Date.UTC(2026, 0) }
  for (let left = 0; left < 5; left += 1) await bull.add('chat', {}, { ...old, jobId: `left-over.${left}` })
  const own = createJobQueue({ redis, countWaiting: async () => ({ count: waiting }), tidyAfterMs: 50 })
  onTestFinished(async () => await own.close())
  waiting = 3
  onTestFinished(() => void (waiting = 1_000))
  await own.add(queuedJob(model, 'young'))
  await expect
    .poll(async () => (await bull.getWaiting()).map(({ id }) => id))
    .toEqual(['left-over.3', 'left-over.4', 'young.1'])
})

test('a job too many that was young at the comparison is removed by a later one, without another change', async () => {
  const model = newModel()
  const own = createJobQueue({ redis, countWaiting: async () => ({ count: 0 }), tidyAfterMs: 200 })
  onTestFinished(async () => await own.close())
  await own.add(queuedJob(model))
  const bull = openBull(model)
  await expect.poll(async () => await counts(bull)).toEqual(NOTHING)
})

test('a worker knows whether an operator has paused the queue, and gets no job until it is resumed', async () => {
  const model = newModel()
  const bull = openBull(model)
  const pull = openPull(model)
  expect(await pull.isPaused()).toBe(false)
  await bull.pause()
  await jobs.add(queuedJob(model))
  expect([await pull.isPaused(), await pull.take()]).toEqual([true, null])
  await bull.resume()
  expect(await pull.isPaused()).toBe(false)
  ;(await nextJob(pull)).done()
  await expect.poll(async () => await counts(bull)).toEqual(NOTHING)
})

test('what was completed last is completed when the worker closes, and one that waits waits no longer', async () => {
  const model = newModel()
  await jobs.add(queuedJob(model))
  const pull = openPull(model)
  ;(await nextJob(pull)).done()
  const next = pull.next()
  await pull.close()
  await expect(next).resolves.toBeNull()
  expect(await counts(openBull(model))).toEqual(NOTHING)
})
