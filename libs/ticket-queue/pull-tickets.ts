import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import { TICKET_QUEUE, ticketPrefix } from '#libs/generation-record/keys.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { createTicketQueue } from './ticket-queue.ts'

export type TicketPull = {
  /**
   * Resolves when this worker is woken by a ticket, at the latest after about 10 s without one, and when the pull is
   * closed. Never rejects. One call at a time: of the workers that wait, one is woken by each ticket.
   */
  next(): Promise<void>
  /** Wakes another worker in place of this one. */
  pass(): Promise<void>
  close(): Promise<void>
}

/** After an error of Redis. */
const PAUSE_MS = 500

/**
 * The consumer's side of one model's queue; `TicketQueue` says what a ticket is. BullMQ's worker is used without a
 * processor: `getNextJob` waits, and returns without a job when it is woken by a job that is not due.
 *
 * `redis` must be a patient connection; BullMQ opens one more for its blocking reads.
 */
export function createTicketPull(options: {
  redis: Redis | Cluster
  model: string
  log: Logger
}): TicketPull {
  const { redis, model, log } = options
  const worker = new Worker<unknown>(TICKET_QUEUE, null, {
    connection: redis,
    prefix: ticketPrefix(model),
    autorun: false,
    // No job is processed, so none can stall and no lock is renewed.
    skipStalledCheck: true,
    skipLockRenewal: true,
    removeOnComplete: { count: 0 },
    skipVersionCheck: true,
  })
  worker.on('error', (error) => log.warn({ err: error, model }, 'ticket queue failed'))
  const queue = createTicketQueue(redis)
  let closed = false

  return {
    async next() {
      try {
        const due = await worker.getNextJob(NO_LOCK)
        // A model that was not used for a year, or an operator who promoted the job: the next ticket is a new job.
        await due?.moveToCompleted(undefined, NO_LOCK, false)
      } catch (error) {
        if (closed) return
        log.warn({ err: error, model }, 'a ticket was not received')
        await sleep(PAUSE_MS)
      }
    },
    pass: async () => await queue.add(model),
    async close() {
      closed = true
      await worker.close(true)
      await queue.close()
    },
  }
}

/** BullMQ writes no lock for this token. */
const NO_LOCK = '0'
