import type { PodView, PoolSpec, StartTimes } from './types.ts'

/** How many durations are kept of each phase. */
const KEPT = 20

/** Share of the kept durations that a prediction covers. */
const QUANTILE = 0.75

/** A start that outlasts all known ones is expected to take this much more than the longest. */
const OVERTIME = 1.5

/** What is left of a start that outlasts even that. */
const LEAST_LEFT_MS = 5000

/**
 * Milliseconds until the next of the pods is ready; null when none is starting. For each phase that is ahead of a pod
 * it takes the 75th percentile of the kept durations that exceed what has already passed of it; without any kept
 * duration, the configured start time.
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

/** Milliseconds from the creation of a pod until it is ready, for a model that has none yet. */
export function predictWholeStart(spec: Pick<PoolSpec, 'startMs'>, kept: StartTimes): number {
  return remaining(spec.startMs, kept, { phase: 'unscheduled', elapsedMs: 0 })
}

/** Adds the duration of a phase that ended, and drops the oldest beyond 20. Returns a new object. */
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
  // Loading is nearly all of a start: without a measured one, only the configured total is known.
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
