import type { PodView, PoolSpec, StartTimes } from './types.ts'

/** The number of durations that are kept of each phase. */
const KEPT = 20

/** Share of the kept durations that a prediction covers. */
const QUANTILE = 0.75

/**
 * If a phase of a start has lasted longer than all its kept durations, its expected duration is the longest of them,
 * multiplied by this factor.
 */
const OVERTIME = 1.5

/** If a phase of a start has lasted longer than all its kept durations, its predicted rest is at least this. */
const LEAST_LEFT_MS = 5000

/**
 * Returns the milliseconds until the first of the pods is ready; null if no pod is starting. For each phase that a pod
 * has not finished, the prediction uses the 75th percentile of the kept durations that exceed the time already spent in
 * the phase. While no duration of the phase `loading` is kept, the prediction uses the configured start time.
 */
export function predictStart(input: {
  readonly spec: Pick<PoolSpec, 'startMs'>
  readonly kept: StartTimes
  readonly pods: readonly PodView[]
}): number | null {
  const { spec, kept, pods } = input
  const left = pods.flatMap((pod) => {
    if (pod.phase !== 'unscheduled' && pod.phase !== 'loading') return []
    return [remaining(spec.startMs, kept, { phase: pod.phase, elapsedMs: pod.sincePhaseMs })]
  })
  return left.length === 0 ? null : Math.min(...left)
}

/** Returns the milliseconds from the creation of a pod until it is ready, for a model that has no pod yet. */
export function predictWholeStart(spec: Pick<PoolSpec, 'startMs'>, kept: StartTimes): number {
  return remaining(spec.startMs, kept, { phase: 'unscheduled', elapsedMs: 0 })
}

/** Adds the duration of a phase that ended, and keeps the newest 20. Returns a new object. */
export function noteStart(
  kept: StartTimes,
  ended: { readonly phase: 'unscheduled' | 'loading'; readonly ms: number },
): StartTimes {
  return { ...kept, [ended.phase]: [...kept[ended.phase], ended.ms].slice(-KEPT) }
}

function remaining(
  startMs: number,
  kept: StartTimes,
  now: { phase: 'unscheduled' | 'loading'; elapsedMs: number },
): number {
  const { phase, elapsedMs } = now
  // Loading is nearly all of a start. Until one loading was measured, only the configured total is known.
  if (kept.loading.length === 0) return leftOf([startMs], elapsedMs)
  if (phase === 'loading') return leftOf(kept.loading, elapsedMs)
  return leftOf(kept.unscheduled, elapsedMs) + leftOf(kept.loading, 0)
}

function leftOf(durationsMs: readonly number[], elapsedMs: number): number {
  if (durationsMs.length === 0) return 0
  const longer = durationsMs.filter((duration) => duration > elapsedMs).toSorted((a, b) => a - b)
  const quantile = longer[Math.ceil(longer.length * QUANTILE) - 1]
  if (quantile !== undefined) return quantile - elapsedMs
  return Math.max(LEAST_LEFT_MS, Math.max(...durationsMs) * OVERTIME - elapsedMs)
}
