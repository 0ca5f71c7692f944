import type { Usage } from '#libs/contracts/generation-event.ts'
import type { SettlementOutcome } from '#libs/contracts/settlement.ts'
import type { StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { TicketQueue } from '#libs/ticket-queue/ticket-queue.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { ClusterPicture } from '../cluster-picture/cluster-picture.ts'
import type { Dispatched } from './dispatch.ts'
import type { Settlements } from './settlements.ts'

/** Ends a generation for good; returns at once. */
export type EndGeneration = (generation: {
  readonly dispatched: Dispatched
  readonly inbox: StreamInbox
  readonly outcome: SettlementOutcome
  readonly usage: Usage
  readonly deadlineMs: number
}) => void

/**
 * Settles a generation, then informs its worker: to stop where it still runs, and in any case that it need not remember
 * it. One that was never queued has nothing but a hold, which is released.
 *
 * The tickets of one that no worker claimed are removed where no worker is ready: they would stay for ever. Where one is,
 * they are wake-ups that any other generation can use, and are left alone.
 */
export function createEndGeneration(deps: {
  settlements: Pick<Settlements, 'add' | 'releaseHold'>
  tickets: Pick<TicketQueue, 'remove'>
  picture: Pick<ClusterPicture, 'find'>
  stopWorker: (worker: string, stream: { stream: number; epoch: number }) => void
  /** The worker may forget this stream. */
  streamSettled: (worker: string, stream: number) => void
  log: Logger
}): EndGeneration {
  const { settlements, tickets, picture, stopWorker, streamSettled, log } = deps

  return ({ dispatched, inbox, outcome, usage, deadlineMs }) => {
    const { id, model } = dispatched.job()
    if (!dispatched.mayBeQueued()) {
      settlements.releaseHold(id)
      return
    }
    const { promptTokens, cachedTokens, completionTokens } = usage
    const heard = inbox.worker()
    const epoch = inbox.epoch()
    if (heard !== null && outcome !== 'completed') stopWorker(heard, { stream: inbox.stream, epoch })
    const ending = {
      job: dispatched.job(),
      epoch,
      outcome: outcome === 'cancelled' && promptTokens === 0 ? 'never-ran' : outcome,
      promptTokens,
      cachedTokens,
      completionTokens,
      deadlineMs,
    } as const
    settlements.add(ending, ({ worker, waited }) => {
      if (worker !== null) {
        if (worker !== heard) stopWorker(worker, { stream: inbox.stream, epoch })
        streamSettled(worker, inbox.stream)
      }
      if (heard !== null && heard !== worker) streamSettled(heard, inbox.stream)
      if (!waited || picture.find(model) !== null) return
      for (const ticket of dispatched.tickets()) {
        tickets
          .remove(model, ticket)
          .catch((error: unknown) =>
            log.warn({ err: error, requestId: id, ticket }, 'a ticket was not removed'),
          )
      }
    })
  }
}
