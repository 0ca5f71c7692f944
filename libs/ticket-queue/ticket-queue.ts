import { Queue } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import { TICKET_QUEUE, ticketPrefix } from '#libs/generation-record/keys.ts'

export type TicketQueue = {
  /**
   * Wakes one worker that waits for a ticket of this model; while none waits, the next one that does. Tickets are not
   * relied on: when this rejects, the ticket may have been added all the same, which does no harm.
   */
  add(model: string): Promise<void>
  close(): Promise<void>
}

/**
 * How far away the ticket is due, as seen from the last time that it was added. It is a year, so that it never is while
 * the model is in use: BullMQ's scores end in 2039.
 */
const DUE_MS = 365 * 24 * 3_600_000

/**
 * The producer's side of the per-model BullMQ queues, over one shared connection.
 *
 * A ticket carries nothing and means only "something waits", so one per model is enough: a delayed job, which each `add`
 * puts off again (BullMQ's deduplication with `reschedule`). BullMQ announces a change of what is delayed to one worker
 * that waits for jobs, so that it sleeps no longer than until then, and keeps the announcement while none waits. That is
 * the wake-up. The job is never processed: a job for each generation would cost 45 to 55 Redis commands to add, hand
 * out and complete, one round trip more before the claim, and would have to be removed where no worker takes it.
 */
export function createTicketQueue(redis: Redis | Cluster): TicketQueue {
  const queues = new Map<string, Queue<Record<string, never>>>()

  function queueOf(model: string) {
    const known = queues.get(model)
    if (known !== undefined) return known
    const queue = new Queue<Record<string, never>>(TICKET_QUEUE, {
      connection: redis,
      prefix: ticketPrefix(model),
      // BullMQ's own event stream cannot be switched off; it has no reader, so it is kept empty.
      streams: { events: { maxLen: 0 } },
      skipVersionCheck: true,
    })
    // The owner of the connection logs its failures; without a listener they go to standard error.
    queue.on('error', () => {})
    queues.set(model, queue)
    return queue
  }

  return {
    async add(model) {
      // A new queue would wait until Redis is back.
      if (redis.status !== 'ready') throw new Error('the queue Redis is away')
      const queue = queueOf(model)
      try {
        await queue.waitUntilReady()
      } catch (error) {
        // Its first command failed. It would fail for ever.
        if (queues.get(model) === queue) queues.delete(model)
        queue.close().catch(() => {})
        throw error
      }
      await queue.add('ticket', {}, TICKET)
    },
    async close() {
      await Promise.all(queues.values().map(async (queue) => await queue.close()))
    },
  }
}

const TICKET = {
  delay: DUE_MS,
  deduplication: { id: 'ticket', reschedule: true },
  attempts: 1,
  removeOnComplete: true,
  removeOnFail: true,
  stackTraceLimit: 0,
} as const
