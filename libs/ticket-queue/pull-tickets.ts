import { Worker } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import { TICKET_QUEUE, ticketPrefix } from '#libs/generation-record/keys.ts'
import type { Logger } from '#libs/telemetry/logger.ts'

export type TicketPull = {
  /** Takes tickets until `pause` or `close`. */
  start(): void
  /** Takes no more tickets; one that Redis has already handed over still reaches `onTicket`. */
  pause(): Promise<void>
  resume(): Promise<void>
  close(): Promise<void>
}

/**
 * The consumer's side of one model's queue. `onTicket` resolves when there is room for another ticket: BullMQ's
 * concurrency stays 1. Its locks guard nothing, so a ticket may be handed out again as often as it stalls; a lost lock, a
 * stall or a `failed` event never affects a generation.
 *
 * `redis` must be a patient connection; BullMQ opens one more for its blocking reads.
 */
export function createTicketPull(options: {
  redis: Redis | Cluster
  model: string
  onTicket: () => Promise<void>
  log: Logger
}): TicketPull {
  const { redis, model, onTicket, log } = options
  const worker = new Worker<unknown>(TICKET_QUEUE, async () => await onTicket(), {
    connection: redis,
    prefix: ticketPrefix(model),
    autorun: false,
    concurrency: 1,
    lockDuration: 10_000,
    stalledInterval: 5_000,
    // At 0, a ticket whose worker died would fail without being handed out again.
    maxStalledCount: 1_000_000,
    runRetryDelay: 500,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
    skipVersionCheck: true,
  })
  worker.on('error', (error) => log.warn({ err: error, model }, 'ticket queue failed'))
  worker.on('failed', (job, error) => log.error({ err: error, model, ticket: job?.id }, 'ticket failed'))

  return {
    start() {
      worker.run().catch((error: unknown) => log.error({ err: error, model }, 'ticket pull ended'))
    },
    pause: async () => await worker.pause(true),
    resume: async () => await worker.resume(),
    close: async () => await worker.close(true),
  }
}
