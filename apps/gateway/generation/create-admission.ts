import type { Registry } from '@prometheus-io/client'
import type { ClusterPicture } from '../demand/cluster-picture.ts'
import type { LoadSignals } from '../demand/load-signals.ts'
import { createAdmit, type Admit } from './admission/admit.ts'
import type { ExpectCost } from './estimates/expected-cost.ts'
import { createRefusals } from './admission/refusals.ts'
import { createStartWaitMetrics } from './measure/start-wait-metrics.ts'
import { createStartWaits } from './admission/start-waits.ts'

/** Creates the first half of admission, with the waits for models that are being started and their metrics. */
export function createAdmission(deps: {
  expectCost: ExpectCost
  /** The drain bound: the longest time that the engines may need for the generations ahead. */
  drainBoundMs: number
  /** The assumed duration of a model's generations until one has been measured. */
  assumedGenerationMs: number
  /** The most requests that may wait for the start of one model. */
  mostStartWaits: number
  /** Returns whether the catalog has the model, and requests for it are allowed. */
  isSold: (model: string) => boolean
  picture: Pick<ClusterPicture, 'find'>
  signals: Pick<LoadSignals, 'demand' | 'modelStates'>
  isBarred: (accountId: string) => boolean
  settlementsFull: () => boolean
  registry: Registry
  random: () => number
  nowMs: () => number
}): Admit {
  const { isSold, mostStartWaits, signals, registry, ...rest } = deps
  const { demand, modelStates } = signals
  const admitting = { ...rest, demand, modelStates }
  const metrics = createStartWaitMetrics(registry, () => startWaits.counts())
  const startWaits = createStartWaits({
    ...admitting,
    isSold,
    most: mostStartWaits,
    onEnd: metrics.noteEnd,
  })
  return createAdmit({ ...admitting, startWaits, refusals: createRefusals(rest) })
}
