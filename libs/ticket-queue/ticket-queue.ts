import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { GenerationTicket } from '#libs/contracts/generation-job.ts'
import { TICKET_QUEUE, ticketPrefix } from '#libs/generation-record/keys.ts'

export type TicketQueue = {
  /**
   * Adds a ticket, with which a worker may claim the generation. `priority` is the fair tag, or `REQUEUE_PRIORITY`. Adding
   * the same ticket twice adds it once. When this rejects, the ticket may have been added all the same: the record must
   * then be cancelled.
   */
  add(model: string, ticket: GenerationTicket, priority: number): Promise<void>
  close(): Promise<void>
}

/**
 * The producer's side of the per-model BullMQ queues, over one shared connection. A ticket has only an id and an epoch, is
 * tried once, and is removed from Redis when it was taken.
 */
export function createTicketQueue(redis: Redis): TicketQueue {
  const queues = new Map<string, Queue<GenerationTicket>>()

  function queueOf(model: string) {
    const known = queues.get(model)
    if (known !== undefined) return known
    const queue = new Queue<GenerationTicket>(TICKET_QUEUE, {
      connection: redis,
      prefix: ticketPrefix(model),
      // BullMQ's own event stream cannot be switched off; it has no reader, so it is kept empty.
      streams: { events: { maxLen: 0 } },
      skipVersionCheck: true,
    })
    queues.set(model, queue)
    return queue
  }

  return {
    async add(model, ticket, priority) {
      await queueOf(model).add('generation', ticket, {
        jobId: `${ticket.id}-${ticket.epoch}`,
        priority,
        attempts: 1,
        removeOnComplete: true,
        removeOnFail: true,
        stackTraceLimit: 0,
      })
    },
    async close() {
      await Promise.all(queues.values().map(async (queue) => await queue.close()))
    },
  }
}
