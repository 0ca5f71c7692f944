import type { Usage } from '#libs/contracts/generation-event.ts'
import type { SettlementOutcome } from '#libs/contracts/settlement.ts'
import type { SettlementTiming } from '#libs/contracts/settlement-timing.ts'
import type { StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { Dispatched } from '../dispatch/dispatch.ts'
import { toListedCost } from '../estimates/expected-cost.ts'
import type { Settlements } from './settlements.ts'

/** Ends a generation for good. Returns at once. */
export type EndGeneration = (generation: {
  readonly dispatched: Dispatched
  readonly inbox: StreamInbox
  readonly outcome: SettlementOutcome
  readonly usage: Usage
  /** A time of this process's monotonic clock. */
  readonly deadlineMs: number
  readonly timing: SettlementTiming
}) => void

/**
 * Settles a generation, then informs its worker: the worker stops the generation if it still runs, and may forget it in
 * any case. A generation that was never queued has only a hold, which is released.
 */
export function createEndGeneration(deps: {
  settlements: Pick<Settlements, 'add' | 'releaseHold'>
  stopWorker: (worker: string, stream: { stream: number; epoch: number }) => void
  /** Reports to the worker that it may forget this stream. */
  streamSettled: (worker: string, stream: number) => void
}): EndGeneration {
  const { settlements, stopWorker, streamSettled } = deps

  return ({ dispatched, inbox, outcome, usage, deadlineMs, timing }) => {
    const job = dispatched.job()
    if (!dispatched.mayBeQueued()) return settlements.releaseHold(job.id)
    const { promptTokens, cachedTokens, completionTokens } = usage
    const heard = inbox.worker()
    const epoch = inbox.epoch()
    if (heard !== null && outcome !== 'completed') stopWorker(heard, { stream: inbox.stream, epoch })
    const ending = {
      job,
      epoch,
      outcome: outcome === 'cancelled' && promptTokens === 0 ? 'never-ran' : outcome,
      promptTokens,
      cachedTokens,
      completionTokens,
      extraCost: toListedCost(job.request, usage),
      deadlineMs,
      timing,
    } as const
    settlements.add(ending, ({ worker }) => {
      if (worker !== null) {
        if (worker !== heard) stopWorker(worker, { stream: inbox.stream, epoch })
        streamSettled(worker, inbox.stream)
      }
      if (heard !== null && heard !== worker) streamSettled(heard, inbox.stream)
    })
  }
}
