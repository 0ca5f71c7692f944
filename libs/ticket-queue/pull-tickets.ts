import { Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import { GenerationTicket } from '#libs/contracts/generation-job.ts'
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
 * The consumer's side of one model's queue. `onTicket` starts the generation elsewhere and resolves when there is room for
 * the next one: BullMQ's concurrency stays 1, its lock guards the claim only, and a lost lock, a stall or a `failed` event
 * never affects a running generation.
 *
 * `redis` must be a patient connection; BullMQ opens one more for its blocking reads.
 */
export function createTicketPull(options: {
  redis: Redis
  model: string
  onTicket: (ticket: GenerationTicket) => Promise<void>
  log: Logger
}): TicketPull {
  const { redis, model, onTicket, log } = options
  const worker = new Worker<unknown>(
    TICKET_QUEUE,
    async (job) => await onTicket(GenerationTicket.parse(job.data)),
    {
      connection: redis,
      prefix: ticketPrefix(model),
      autorun: false,
      concurrency: 1,
      lockDuration: 10_000,
      stalledInterval: 5_000,
      maxStalledCount: 0,
      runRetryDelay: 500,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
      skipVersionCheck: true,
    },
  )
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
