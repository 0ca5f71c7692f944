import type { Waiting } from '#libs/generation-record/count-waiting.ts'
import type { ModelLoad } from './decide/types.ts'
import type { CapacityReader } from './signals/read-capacity.ts'
import type { DemandReader } from './signals/read-demand.ts'

/** The load of one model, with the number of workers that serve it. */
export type LoadOf = (model: string, waiting: Waiting) => ModelLoad & { readonly ready: number }

/**
 * Creates the function that computes a model's load from the reports of gateways, the reports of workers and the
 * model's queue. A model's idle time begins when a request was last offered, waiting or running, but not before this
 * process started, because what happened earlier is unknown.
 */
export function createLoadOf(options: {
  demand: Pick<DemandReader, 'load'>
  capacity: Pick<CapacityReader, 'load'>
  nowMs: () => number
}): LoadOf {
  const { demand, capacity, nowMs } = options
  const startedMs = nowMs()
  const busyAtMs = new Map<string, number>()

  return (model, waiting) => {
    const now = nowMs()
    const { freshPerS, waitingTokens, unserved, offeredAgoMs } = demand.load(model)
    const { running, ready, ...means } = capacity.load(model)
    if (waiting.count > 0 || running > 0) busyAtMs.set(model, now)
    const offeredAtMs = offeredAgoMs === null ? startedMs : now - offeredAgoMs
    const idleForMs = now - Math.max(startedMs, offeredAtMs, busyAtMs.get(model) ?? startedMs)
    return { ...means, freshPerS, waiting: waiting.count, waitingTokens, running, ready, unserved, idleForMs }
  }
}
