import { ErrorCode, Job, Queue } from 'bullmq'
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
 * puts off again. BullMQ announces a change of what is delayed to one worker that waits for jobs, so that it sleeps no
 * longer than until then, and keeps the announcement while none waits. That is the wake-up. The job is never processed: a
 * job for each generation would cost 45 to 55 Redis commands to add, hand out and complete, one round trip more before
 * the claim, and would have to be removed where no worker takes it. Putting off a job that is known costs 9; adding it
 * with BullMQ's deduplication, which puts it off as well, costs 14 and encodes all its options.
 */
export function createTicketQueue(redis: Redis | Cluster): TicketQueue {
  const tickets = new Map<string, Ticket>()

  function ticketOf(model: string): Ticket {
    const known = tickets.get(model)
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
    const ticket = { queue, job: new Job(queue, NAME, {}, TICKET, NAME) }
    tickets.set(model, ticket)
    return ticket
  }

  return {
    async add(model) {
      // A new queue would wait until Redis is back.
      if (redis.status !== 'ready') throw new Error('the queue Redis is away')
      const ticket = ticketOf(model)
      const { queue, job } = ticket
      try {
        await queue.waitUntilReady()
      } catch (error) {
        // Its first command failed. It would fail for ever.
        if (tickets.get(model) === ticket) tickets.delete(model)
        queue.close().catch(() => {})
        throw error
      }
      try {
        await job.changeDelay(DUE_MS)
      } catch (error) {
        if (!isNotDelayed(error)) throw error
        await queue.add(NAME, {}, TICKET)
      }
    },
    async close() {
      await Promise.all(tickets.values().map(async ({ queue }) => await queue.close()))
    },
  }
}

type Ticket = { readonly queue: Queue; readonly job: Job }

const NAME = 'ticket'

const TICKET = {
  jobId: NAME,
  delay: DUE_MS,
  attempts: 1,
  removeOnComplete: true,
  removeOnFail: true,
  stackTraceLimit: 0,
} as const

/** There is no ticket yet; or it has become due, and then it wakes a worker by itself until one has taken it. */
function isNotDelayed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && NOT_DELAYED.has(error.code)
}

const NOT_DELAYED = new Set<unknown>([ErrorCode.JobNotExist, ErrorCode.JobNotInState])
