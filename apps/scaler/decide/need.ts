import { busySlots, queueSlots } from '#libs/demand/demand.ts'
import type { ModelLoad, PoolSpec } from './types.ts'

/** The term that decides the number of replicas. */
export type NeedTerm = 'busy' | 'decode' | 'prefill' | 'floor' | 'max' | 'unserved' | 'zero'

export type Need = {
  /**
   * The number of replicas that the load needs, in all pools of the model together. It includes neither replacements
   * for sick pods nor the minima of the pools: `splitNeed` takes both into account later.
   */
  readonly raw: number
  /** The term that decides. */
  readonly term: NeedTerm
  /** The replicas of each known term, not rounded; a term whose inputs are unknown is absent. */
  readonly terms: Readonly<Record<string, number>>
}

/**
 * Computes how many replicas a model's load needs. It is the highest of these terms:
 *
 * - busy: (busy slots + queue slots) ÷ (slots of a replica × utilization). Busy slots are the larger of two numbers:
 *   the running generations, and offered generations per second × mean service time (Little's law). Queue slots are the
 *   slots needed to empty the queue within the target wait;
 * - decode: (offered generations per second × mean output tokens) ÷ (output tokens per second of a busy replica ×
 *   utilization);
 * - prefill: the waiting prompt tokens, divided by the tokens that a replica prefills within the target wait.
 *
 * The result is rounded up. It is at least 1 while a request waits, and for 60 s after a request was refused because no
 * worker was ready. It never exceeds the sum of the pools' maxima. It is absolute, never a ratio of ready pods, so
 * loading pods do not raise it.
 *
 * @throws RangeError if `pools` is empty.
 */
export function computeNeed(load: ModelLoad, pools: readonly PoolSpec[]): Need {
  const [first] = pools.toSorted((a, b) => a.order - b.order)
  if (first === undefined) throw new RangeError('a model without a pool has no need')
  const terms = needTerms(load, first)
  const most = Object.entries(terms).toSorted(([, a], [, b]) => b - a)[0]
  const replicas = Math.ceil((most?.[1] ?? 0) - ROUNDING)
  const max = pools.reduce((sum, pool) => sum + pool.max, 0)
  if (replicas > max) return { raw: max, term: 'max', terms }
  if (replicas > 0) return { raw: replicas, term: toTerm(most?.[0]), terms }
  if (load.unserved || load.waiting > 0) return { raw: Math.min(1, max), term: 'unserved', terms }
  return { raw: 0, term: 'zero', terms }
}

/** A need of 2.000000001 replicas counts as 2, because the excess is a rounding error of floating-point sums. */
const ROUNDING = 1e-9

function needTerms(load: ModelLoad, spec: PoolSpec): Record<string, number> {
  const { freshPerS, running, waiting, meanServiceMs: meanMs } = load
  const { meanOutputTokens, decodePerReplica, prefillPerReplica } = load
  const slots = load.slotsPerReplica === null || load.slotsPerReplica <= 0 ? spec.slots : load.slotsPerReplica
  const usable = slots * spec.utilization
  const busy = busySlots({ perS: freshPerS, running, meanMs })
  const queue = queueSlots({ waiting, meanMs, targetWaitMs: spec.targetWaitMs })
  const terms: Record<string, number> = { busy: (busy + queue) / usable }
  if (decodePerReplica !== null && decodePerReplica > 0 && meanOutputTokens !== null)
    terms['decode'] = (freshPerS * meanOutputTokens) / (decodePerReplica * spec.utilization)
  if (prefillPerReplica !== null && prefillPerReplica > 0)
    terms['prefill'] = load.waitingTokens / ((prefillPerReplica * spec.targetWaitMs) / 1000)
  return terms
}

function toTerm(name: string | undefined): NeedTerm {
  return name === 'decode' || name === 'prefill' ? name : 'busy'
}
