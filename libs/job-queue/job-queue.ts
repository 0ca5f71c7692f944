import { Queue } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import { wallClockMs } from '#libs/clock/wall-clock.ts'
import { JOB_QUEUE, jobQueuePrefix } from '#libs/queue-redis/keys.ts'

/** One turn for a waiting generation, as operators see it in BullMQ's tools. It contains no prompt and no key. */
export type QueuedJob = {
  /** Made by `toJobId`. */
  readonly id: string
  readonly model: string
  readonly kind: 'chat' | 'embedding'
  readonly data: JobData
}

type JobData = {
  readonly generation: string
  readonly epoch: number
  readonly account: string
  /** The expected tokens of prompt and output. */
  readonly estimatedTokens: number
  /** An ISO date by the gateway's clock. */
  readonly waitsSince: string
}

/** Returns the id of a generation's job in this epoch. `number` distinguishes the jobs of one epoch, from 1 on. */
export function toJobId(generation: string, epoch: number, number: number): string {
  return number === 1 ? `${generation}.${epoch}` : `${generation}.${epoch}.${number}`
}

export type JobQueue = {
  /**
   * Adds a job. One worker with a free slot takes it. If a job with this id waits already, nothing changes. If the
   * promise rejects, the job may still have been added. That does no harm.
   */
  add(job: QueuedJob): Promise<void>
  /**
   * Adds a job unless other jobs of its model wait, because any of these jobs leads a worker to the waiting
   * generations. Returns true if the job was added.
   */
  addIfNoneWaits(job: QueuedJob): Promise<boolean>
  /** Removes the job if it still waits. */
  remove(job: QueuedJob): Promise<void>
  close(): Promise<void>
}

/** Returns the date of a new job. */
export const jobDate = (): string => new Date(wallClockMs()).toISOString()

/**
 * How long after a change of a model's queue a gateway compares the number of jobs with the number of waiting
 * generations.
 */
const TIDY_AFTER_MS = 10_000
/** A younger job is not removed, because it may belong to a generation that is being enqueued. */
const SURPLUS_AGE_MS = 3_000
/** The most jobs that one call of `clean` removes, so that the call keeps Redis busy for less than 5 ms. */
const MOST_CLEANED = 500

/**
 * The producer's side of the BullMQ queues, one queue for each model, over one shared connection.
 *
 * A job is a turn, not a right: the worker that takes a job claims the first waiting generation in the fair order. This
 * may be another generation than the job's. So no generation is lost or run twice if a job is lost, doubled or left
 * over. Jobs are left over in three cases:
 * - A generation ended while it waited, after its job had led a worker to another generation.
 * - A worker claimed a generation without a job.
 * - A gateway died.
 *
 * While all workers are full, such jobs would stay in the queue. So `TIDY_AFTER_MS` after a job was added or removed,
 * the jobs are compared with the waiting generations. If there are more jobs, the surplus is removed, the oldest jobs
 * first.
 */
export function createJobQueue(options: {
  redis: Redis | Cluster
  /** Returns how many generations of a model wait. */
  countWaiting: (model: string) => Promise<{ readonly count: number }>
  tidyAfterMs?: number
}): JobQueue {
  const { redis, countWaiting, tidyAfterMs = TIDY_AFTER_MS } = options
  const queues = new Map<string, Queue>()
  const tidying = new Map<string, NodeJS.Timeout>()

  async function readyQueue(model: string): Promise<Queue> {
    // A new queue would wait until Redis is back.
    if (redis.status !== 'ready') throw new Error('the queue Redis is away')
    const queue = queues.get(model) ?? openJobQueue(redis, model)
    queues.set(model, queue)
    try {
      await queue.waitUntilReady()
      return queue
    } catch (error) {
      // The queue's first command failed. The queue would then fail for ever, so it is replaced.
      if (queues.get(model) === queue) queues.delete(model)
      queue.close().catch(() => {})
      throw error
    }
  }

  async function tidy(model: string, queue: Queue): Promise<void> {
    const [jobs, { count }] = await Promise.all([queue.getWaitingCount(), countWaiting(model)])
    const surplus = Math.min(MOST_CLEANED, jobs - count)
    if (surplus <= 0) return
    const removed = await queue.clean(SURPLUS_AGE_MS, surplus, 'wait')
    // The rest are too young, or too many for one call.
    if (removed.length < jobs - count) tidySoon(model, queue)
  }

  /** The last change of a queue may leave jobs over as well, so a comparison follows every change. */
  function tidySoon(model: string, queue: Queue): void {
    if (tidying.has(model)) return
    const timer = setTimeout(() => {
      tidying.delete(model)
      // Jobs that this call could not remove are removed by the next one.
      tidy(model, queue).catch(() => {})
    }, tidyAfterMs)
    tidying.set(model, timer.unref())
  }

  async function add({ id, model, kind, data }: QueuedJob): Promise<void> {
    const queue = await readyQueue(model)
    await queue.add(kind, data, { jobId: id })
    tidySoon(model, queue)
  }

  return {
    add,
    async addIfNoneWaits(job) {
      const queue = await readyQueue(job.model)
      if ((await queue.getWaitingCount()) > 0) return false
      await add(job)
      return true
    },
    async remove({ id, model }) {
      const queue = await readyQueue(model)
      await queue.remove(id)
      tidySoon(model, queue)
    },
    async close() {
      for (const timer of tidying.values()) clearTimeout(timer)
      await Promise.all(queues.values().map(async (queue) => await queue.close()))
    },
  }
}

/** Opens BullMQ's queue of one model. */
export function openJobQueue(redis: Redis | Cluster, model: string): Queue {
  const queue = new Queue(JOB_QUEUE, {
    connection: redis,
    prefix: jobQueuePrefix(model),
    // BullMQ's own event stream cannot be switched off; it has no reader, so it is kept empty.
    streams: { events: { maxLen: 0 } },
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    skipVersionCheck: true,
  })
  // The owner of the connection logs its failures; without a listener they go to standard error.
  queue.on('error', () => {})
  return queue
}
