import { Queue } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import { wallClockMs } from '#libs/clock/wall-clock.ts'
import { JOB_QUEUE, jobQueuePrefix } from '#libs/generation-record/keys.ts'

/** One turn for a generation that waits, as operators see it in BullMQ's tools: no prompt, and no key. */
export type QueuedJob = {
  /** `toJobId`. */
  readonly id: string
  readonly model: string
  readonly kind: 'chat' | 'embedding'
  readonly data: JobData
}

type JobData = {
  readonly generation: string
  readonly epoch: number
  readonly account: string
  /** Prompt and output, as its gateway expects them. */
  readonly estimatedTokens: number
  /** An ISO date by the gateway's clock. */
  readonly waitsSince: string
}

/** The id of a generation's job in this epoch; `number` tells the jobs of one epoch apart, the first of which is 1. */
export function toJobId(generation: string, epoch: number, number: number): string {
  return number === 1 ? `${generation}.${epoch}` : `${generation}.${epoch}.${number}`
}

export type JobQueue = {
  /**
   * Adds a job, which one worker with room takes; nothing changes where its id waits already. Jobs are not relied on: when
   * this rejects, the job may have been added all the same, which does no harm.
   */
  add(job: QueuedJob): Promise<void>
  /** Adds a job unless others of its model wait, which lead a worker to its generation as well. Returns whether it did. */
  addIfNoneWaits(job: QueuedJob): Promise<boolean>
  /** Removes the job if it still waits. */
  remove(job: QueuedJob): Promise<void>
  close(): Promise<void>
}

/** Returns the dates of new jobs. */
export const jobDate = (): string => new Date(wallClockMs()).toISOString()

/** How long after a change of a model's queue a gateway compares the jobs with the generations that wait. */
const TIDY_AFTER_MS = 10_000
/** A younger job may belong to a generation that is being lifted. */
const SURPLUS_AGE_MS = 3_000
/** A call of `clean` keeps Redis busy for less than 5 ms. */
const MOST_CLEANED = 500

/**
 * The producer's side of the per-model BullMQ queues, over one shared connection.
 *
 * A job is a turn, not a right: the worker that takes it claims the fairest generation that waits, which need not be the
 * job's. So a job that is lost, doubled or left over changes nothing. Left over are those of generations that ended while
 * they waited, where their own job had led a worker to another one, those of generations that a worker claimed without a job,
 * and those of gateways that died. While all workers are full these would stay, so a while after each change as many of the
 * oldest jobs are removed as there are more than generations.
 */
export function createJobQueue(options: {
  redis: Redis | Cluster
  /** How many generations of a model wait. */
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
      // Its first command failed. It would fail for ever.
      if (queues.get(model) === queue) queues.delete(model)
      queue.close().catch(() => {})
      throw error
    }
  }

  async function tidy(model: string, queue: Queue): Promise<void> {
    const [jobs, { count }] = await Promise.all([queue.getWaitingCount(), countWaiting(model)])
    const surplus = Math.min(MOST_CLEANED, jobs - count)
    if (surplus > 0) await queue.clean(SURPLUS_AGE_MS, surplus, 'wait')
  }

  /** Jobs may be left over after the last change of a queue as well, so each change leads to a comparison after it. */
  function tidySoon(model: string, queue: Queue): void {
    if (tidying.has(model)) return
    const timer = setTimeout(() => {
      tidying.delete(model)
      // What it could not remove it removes the next time.
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

/** BullMQ's queue of one model. */
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
