import type { Registry } from '@prometheus-io/client'
import { declareMetrics } from '#libs/telemetry/declare-metrics.ts'
import type { ClassGpus } from './decide/decide-round.ts'
import type { Round } from './plan-round.ts'
import type { KedaCall } from './serve-keda.ts'
import type { Snapshot } from './snapshot.ts'

export type ScalerMetrics = {
  noteRound(round: Round): void
  noteStart(pool: string, start: { ms: number; predictedMs: number }): void
  noteCall(call: KedaCall, code: string): void
}

const START_BUCKETS_S = [5, 10, 20, 30, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1_800]
const ERROR_BUCKETS = [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 2, 5]

/**
 * Registers the scaler's metrics. Labels are bounded: pools and models come from the configuration; phases, terms,
 * calls and codes are few. Only the leader reports the metrics about models, so that sums over scalers are right.
 */
export function createScalerMetrics(options: {
  registry: Registry
  snapshot: () => Snapshot | null
  ageMs: () => number
  isLeader: () => boolean
  /** Returns the GPUs of one replica. */
  gpusOf: (pool: string) => number
}): ScalerMetrics {
  const { ageMs, isLeader, gpusOf } = options
  const { counter, gauge, histogram } = declareMetrics(options.registry)
  const reports = () => (isLeader() ? (options.snapshot()?.report ?? []) : [])
  let gpus: ReadonlyMap<string, ClassGpus> = new Map()
  const counted = new Map<string, { removals: number; released: ReadonlySet<string> }>()

  gauge({
    name: 'millrace_scaler_desired',
    help: 'Replicas that the load needs, within the minima and maxima of the pools and before the GPU budget',
    labelNames: ['model', 'pool'],
    read: () =>
      reports().flatMap(({ model, pools }) =>
        pools.map(({ pool, want }) => [{ model, pool }, want] as const),
      ),
  })
  gauge({
    name: 'millrace_scaler_target',
    help: 'Replicas that KEDA is answered',
    labelNames: ['model', 'pool'],
    read: () =>
      reports().flatMap(({ model, pools }) =>
        pools.map(({ pool, target }) => [{ model, pool }, target] as const),
      ),
  })
  gauge({
    name: 'millrace_scaler_pods',
    help: 'Pods by phase',
    labelNames: ['model', 'pool', 'phase'],
    read: () =>
      reports().flatMap(({ model, pools }) =>
        pools.flatMap(({ pool, pods }) =>
          Object.entries(pods).map(([phase, number]) => [{ model, pool, phase }, number] as const),
        ),
      ),
  })
  gauge({
    name: 'millrace_scaler_need',
    help: 'Replicas that each known term of the need asks for, not rounded',
    labelNames: ['model', 'term'],
    read: () =>
      reports().flatMap(({ model, terms }) =>
        Object.entries(terms).map(([term, replicas]) => [{ model, term }, replicas] as const),
      ),
  })
  gauge({
    name: 'millrace_scaler_cordoned',
    help: 'Pods that run empty to be released',
    labelNames: ['model', 'pool'],
    read: () =>
      reports().flatMap(({ model, pools }) =>
        pools.map(({ pool, cordoned }) => [{ model, pool }, cordoned] as const),
      ),
  })
  gauge({
    name: 'millrace_scaler_gpus',
    help: 'GPUs of the budget by state',
    labelNames: ['class', 'state'],
    read: () => (isLeader() ? [...gpus].flatMap(([gpuClass, states]) => toStates(gpuClass, states)) : []),
  })
  gauge({
    name: 'millrace_scaler_model_gpus',
    help: 'GPUs of the pods that a node runs for the model; those that are being deleted too',
    labelNames: ['model'],
    read: () =>
      reports().map(({ model, pools }) => {
        const gpus = pools.map(({ pool, pods }) => gpusOf(pool) * countScheduled(pods))
        return [{ model }, gpus.reduce((sum, each) => sum + each, 0)] as const
      }),
  })
  gauge({
    name: 'millrace_queue_waiting',
    help: 'Generations that wait in the queue; from the leading scaler alone',
    labelNames: ['model'],
    read: () => reports().map(({ model, waiting }) => [{ model }, waiting] as const),
  })
  gauge({
    name: 'millrace_queue_oldest_seconds',
    help: 'Age of the oldest generation that waits, 0 without one; from the leading scaler alone',
    labelNames: ['model'],
    read: () => reports().map(({ model, oldestMs }) => [{ model }, (oldestMs ?? 0) / 1_000] as const),
  })
  gauge({
    name: 'millrace_scaler_snapshot_age_seconds',
    help: 'Age of the snapshot that KEDA is answered with; beyond 10 s answers are refused',
    read: () => ageMs() / 1_000,
  })
  gauge({
    name: 'millrace_scaler_leader',
    help: '1 on the scaler that leads',
    read: () => (isLeader() ? 1 : 0),
  })
  const released = counter({
    name: 'millrace_scaler_released_total',
    help: 'Pods that were idle and released for deletion',
    labelNames: ['pool'],
  })
  const removals = counter({
    name: 'millrace_scaler_unplanned_removals_total',
    help: 'Pods that were deleted in place of the released ones',
    labelNames: ['pool'],
  })
  const startSeconds = histogram({
    name: 'millrace_scaler_start_seconds',
    help: 'From the creation of a pod until its worker serves',
    labelNames: ['pool'],
    buckets: START_BUCKETS_S,
  })
  const etaError = histogram({
    name: 'millrace_scaler_eta_error_ratio',
    help: 'Difference of predicted and real start time, over the real one',
    labelNames: ['pool'],
    buckets: ERROR_BUCKETS,
  })
  const calls = counter({
    name: 'millrace_scaler_keda_calls_total',
    help: "KEDA's calls by answer",
    labelNames: ['call', 'code'],
  })

  return {
    noteRound(round) {
      gpus = round.gpus
      for (const [pool, { state }] of round.changes) {
        const uids = new Set(state.released.map(({ uid }) => uid))
        const before = counted.get(pool) ?? { removals: state.unplannedRemovals, released: uids }
        for (const uid of uids) if (!before.released.has(uid)) released.inc({ pool })
        removals.inc({ pool }, Math.max(0, state.unplannedRemovals - before.removals))
        counted.set(pool, { removals: state.unplannedRemovals, released: uids })
      }
    },
    noteStart(pool, { ms, predictedMs }) {
      startSeconds.observe({ pool }, ms / 1_000)
      if (ms > 0) etaError.observe({ pool }, Math.abs(predictedMs - ms) / ms)
    },
    noteCall: (call, code) => calls.inc({ call, code }),
  }
}

function countScheduled(pods: Readonly<Record<string, number>>): number {
  const all = Object.values(pods).reduce((sum, number) => sum + number, 0)
  return all - (pods['unscheduled'] ?? 0)
}

function toStates(gpuClass: string, states: ClassGpus) {
  return Object.entries(states).map(([state, number]) => [{ class: gpuClass, state }, number] as const)
}
