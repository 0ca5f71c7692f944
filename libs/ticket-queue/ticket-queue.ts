import { randomUUID } from 'node:crypto'
import { Queue } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import { TICKET_QUEUE, ticketPrefix } from '#libs/generation-record/keys.ts'

export type TicketQueue = {
  /**
   * Adds a ticket, which makes a worker claim at once, and returns its job id. Tickets are not relied on: when this
   * rejects, the ticket may have been added all the same, which does no harm.
   */
  add(model: string): Promise<string>
  /** Removes a ticket that no worker has taken; any other id is ignored. */
  remove(model: string, jobId: string): Promise<void>
  close(): Promise<void>
}

/**
 * The producer's side of the per-model BullMQ queues, over one shared connection. A ticket carries nothing and means only
 * "something waits". It is tried once and leaves nothing in Redis when it was taken.
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
      // Fresh, also after a failover that lost BullMQ's counter: a known id would wake up no worker.
      const jobId = randomUUID()
      try {
        await queue.waitUntilReady()
      } catch (error) {
        // Its first command failed. It would fail for ever.
        if (queues.get(model) === queue) queues.delete(model)
        queue.close().catch(() => {})
        throw error
      }
      await queue.add(
        'ticket',
        {},
        { jobId, attempts: 1, removeOnComplete: true, removeOnFail: true, stackTraceLimit: 0 },
      )
      return jobId
    },
    async remove(model, jobId) {
      await queueOf(model).remove(jobId)
    },
    async close() {
      await Promise.all(queues.values().map(async (queue) => await queue.close()))
    },
  }
}
