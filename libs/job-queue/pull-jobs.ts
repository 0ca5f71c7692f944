import { setTimeout as sleep } from 'node:timers/promises'
import { Job, Worker, type JobJson } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import { JOB_QUEUE, jobQueuePrefix } from '#libs/queue-redis/keys.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { openJobQueue } from './job-queue.ts'

/** A job that this worker has taken. */
export type Turn = {
  /** Completes the job within 20 ms. */
  done(): void
  /** Puts the job back into the queue for another worker. Never rejects. */
  pass(): Promise<void>
}

export type JobPull = {
  /**
   * Resolves with a job when there is one. Resolves with null after about 5 s at the latest, and when the pull is
   * closed. Never rejects. Allows only one call at a time. If several workers wait, each job goes to one of them.
   */
  next(): Promise<Turn | null>
  /** Takes a job if one waits, else resolves with null. Never rejects. */
  take(): Promise<Turn | null>
  /** True if an operator has paused the queue. Rejects if Redis does not answer. */
  isPaused(): Promise<boolean>
  close(): Promise<void>
}

/** The pause after an error of Redis. */
const PAUSE_MS = 500
const WAIT_S = 5
/** A finished job is completed when the worker looks for its next job, or after this time: no client waits for it. */
const COMPLETE_AFTER_MS = 20
/** BullMQ puts back a job that a worker has had for one to two times this long. A claim takes far less. */
const STALLED_AFTER_MS = 5_000
/**
 * BullMQ fails a job if more workers than this have died while they had it. A job is only a turn and must not fail, so
 * the number is too large to be reached.
 */
const NEVER = 1_000_000

/**
 * The consumer's side of one model's queue. BullMQ's worker is used without a processor and without locks. Jobs are
 * fetched one by one, when a slot is free. The records of the generations, not the jobs, decide which worker runs which
 * generation. If a worker dies, BullMQ's check for stalled jobs puts back the jobs that this worker had.
 *
 * `redis` must be a `patient` connection (`connect-redis.ts`); BullMQ opens one more for its blocking reads.
 */
export function createJobPull(options: { redis: Redis | Cluster; model: string; log: Logger }): JobPull {
  const { redis, model, log } = options
  const queue = openJobQueue(redis, model)
  const worker = new Worker(JOB_QUEUE, null, {
    connection: redis,
    prefix: jobQueuePrefix(model),
    autorun: false,
    skipLockRenewal: true,
    maxStalledCount: NEVER,
    // This option holds for jobs that an operator has added, too.
    removeOnComplete: { count: 0 },
    stalledInterval: STALLED_AFTER_MS,
    skipVersionCheck: true,
  })
  const backend = worker.getBackend()
  worker.on('error', (error) => log.warn({ err: error, model }, 'job queue failed'))
  void worker.startStalledCheckTimer()
  let finished: Job[] = []
  let timer: NodeJS.Timeout | undefined
  let closed = false

  function toTurn(job: Job): Turn {
    const { id, name, data } = job
    return {
      done() {
        finished.push(job)
        timer ??= setTimeout(() => void completeAll(), COMPLETE_AFTER_MS)
      },
      async pass() {
        try {
          await complete(job)
          await queue.add(name, data, id === undefined ? {} : { jobId: id })
        } catch (error) {
          log.warn({ err: error, model }, 'a job was not passed on')
        }
      },
    }
  }

  async function completeAll(): Promise<void> {
    timer = undefined
    const jobs = finished
    finished = []
    await Promise.all(jobs.map(complete))
  }

  /** A job that is gone was put back as stalled, or was removed by an operator. */
  async function complete(job: Job): Promise<void> {
    await job.moveToCompleted(undefined, NO_LOCK, false).catch(() => {})
  }

  /**
   * Completes a finished job and looks for the next job with one script. Whenever BullMQ gives a worker a job, it also
   * leaves a marker in the queue. The marker ends the worker's next wait for a job at once. So after each job this
   * worker looks for another job, and mostly finds none. This seldom costs a command of its own, because the command
   * that completes the finished job also looks for the next one.
   */
  async function takeNext(): Promise<Job | undefined> {
    const done = finished.pop()
    const answer = await done?.moveToCompleted(undefined, NO_LOCK, true).catch(() => undefined)
    if (answer === undefined) return await worker.getNextJob(NO_LOCK, { block: false })
    const json: JobJson | null | undefined = answer[0]
    const id: string = answer[1]
    return json ? Job.fromJSON(worker, json, id) : undefined
  }

  async function take(): Promise<Turn | null> {
    try {
      const job = await takeNext()
      return job === undefined ? null : toTurn(job)
    } catch (error) {
      if (!closed) log.warn({ err: error, model }, 'no job was received')
      return null
    }
  }

  return {
    take,
    async next() {
      try {
        await backend.waitForJob(WAIT_S)
      } catch (error) {
        if (closed) return null
        log.warn({ err: error, model }, 'no job was received')
        // If the wait was given up while its client was looking for the master, the client's connection stays closed.
        await backend.reconnectBlocking().catch(() => {})
        await sleep(PAUSE_MS)
      }
      return closed ? null : await take()
    },
    isPaused: async () => await queue.isPaused(),
    async close() {
      closed = true
      clearTimeout(timer)
      await Promise.all([worker.close(true), completeAll()])
      await queue.close()
    },
  }
}

/** BullMQ writes no lock for this token. */
const NO_LOCK = '0'
