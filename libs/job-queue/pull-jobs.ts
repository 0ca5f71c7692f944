import { setTimeout as sleep } from 'node:timers/promises'
import { Job, Worker, type JobJson } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import { JOB_QUEUE, jobQueuePrefix } from '#libs/generation-record/keys.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { openJobQueue } from './job-queue.ts'

/** A job in this worker's hand. */
export type Turn = {
  /** Completes the job, soon. */
  done(): void
  /** Leaves the turn to another worker. Never rejects. */
  pass(): Promise<void>
}

export type JobPull = {
  /**
   * Resolves with a job when one is there; with null at the latest after about 5 s, and when the pull is closed. Never
   * rejects. One call at a time: each job goes to one of the workers that wait.
   */
  next(): Promise<Turn | null>
  /** Takes a job where one waits. Never rejects. */
  take(): Promise<Turn | null>
  /** Whether an operator has paused the queue. Rejects when Redis does not answer. */
  isPaused(): Promise<boolean>
  close(): Promise<void>
}

/** After an error of Redis. */
const PAUSE_MS = 500
const WAIT_S = 5
/** A job that is done is completed by the next look for a job, or after this time: no client waits for it. */
const COMPLETE_AFTER_MS = 20
/** A job that is in a hand for one to two times as long is put back: far longer than a claim takes. */
const STALLED_AFTER_MS = 5_000
/** A job that this often was left in the hand of a worker that died would be failed; it is only a turn. */
const NEVER = 1_000_000

/**
 * The consumer's side of one model's queue. BullMQ's worker is used without a processor: jobs are fetched by hand, when
 * there is room for a generation, and without locks, because the generation's record decides who runs what. The jobs that
 * a worker leaves in its hand when it dies are put back by BullMQ's check for stalled jobs.
 *
 * `redis` must be a patient connection; BullMQ opens one more for its blocking reads.
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
    // Of jobs that an operator has added, too.
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

  /** One that is not there any more was put back as stalled, or removed by an operator. */
  async function complete(job: Job): Promise<void> {
    await job.moveToCompleted(undefined, NO_LOCK, false).catch(() => {})
  }

  /**
   * One script completes a job and takes the next one. That saves most looks: BullMQ leaves a marker behind each job that
   * it gives out, so the worker's next wait for a job ends at once, and mostly in vain.
   */
  async function takeNext(): Promise<Job | undefined> {
    const done = finished.pop()
    const answer = await done?.moveToCompleted(undefined, NO_LOCK, true).catch(() => undefined)
    if (answer === undefined) return await worker.getNextJob(NO_LOCK, { block: false })
    const [json, id] = answer as readonly [json?: JobJson | null, id?: string]
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
        // A wait that was given up while the master was being looked for leaves its connection closed.
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
