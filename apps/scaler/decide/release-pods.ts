import { needsNoCordon } from './choose-pods.ts'
import type { PodView, PoolState } from './types.ts'

/**
 * The states of a pod on its way out of the pool, in their order:
 * - cordoned: the pod takes no new work.
 * - released: it runs nothing and gets the deletion cost.
 * - marked: Kubernetes lists the cost.
 * - lowered: the target no longer counts the pod. This happens 1 s after the mark, so that the ReplicaSet controller
 *   has seen the cost.
 * - deleting: Kubernetes deletes the pod.
 *
 * From every state but the last a pod can go back to serving. A lowered pod goes back if it is not deleted within 60 s,
 * or if another pod was deleted in its place.
 */

/** The deletion cost that makes a ReplicaSet choose the pod among equally ready pods. */
export const RELEASE_COST = -1000

/** The number of consecutive heartbeats that must report the pod as cordoned and idle. */
const IDLE_REPORTS = 2

/**
 * A worker that has not obeyed a cordon for this time is of an older version. Its pod is released although the worker
 * still serves; the worker drains when the pod is deleted.
 */
const DISOBEYED_MS = 60_000

/** A marked pod is lowered after this time at the earliest. */
const MARK_SETTLES_MS = 1000

/** A lowered pod that still exists after this time goes back to serving. */
const UNDELETED_MS = 60_000

/**
 * The target no longer counts a lowered pod, so Kubernetes should delete it. If another pod is missing in its place for
 * this time, Kubernetes has deleted the other pod, and the lowered pod counts as replaced. Before this time, the
 * missing pod may be an evicted pod whose successor Kubernetes has not created yet.
 */
const REPLACED_MS = 5000

type Released = PoolState['released'][number]

/**
 * A lowered pod is a pod that the target no longer counts. Returns the number of lowered pods that Kubernetes will
 * still delete. A lowered pod is not included if Kubernetes has deleted another pod in its place.
 */
export function countLeaving({ target, released }: PoolState, existing: number): number {
  const lowered = released.filter(({ loweredMs }) => loweredMs !== null).length
  return Math.min(lowered, Math.max(0, existing - target))
}

/**
 * Drops pods that no longer exist, lets released pods that Kubernetes did not delete serve again, and releases cordoned
 * pods that are idle.
 */
export function followReleases(
  state: PoolState,
  pods: ReadonlyMap<string, PodView>,
  nowMs: number,
): PoolState {
  return releaseIdle(takeBack(dropGone(state, pods), pods.size, nowMs), pods, nowMs)
}

/** Returns the entry of a newly released pod. */
export function toReleased(uid: string, nowMs: number, isForced = false): Released {
  return { uid, sinceMs: nowMs, isForced, markedMs: null, loweredMs: null, replacedMs: null }
}

/**
 * Lowers the target by the number of released pods whose deletion cost Kubernetes has listed for at least 1 s. Lowers
 * it only if these pods and the already lowered pods are at least `batch` together.
 *
 * A released pod that has begun to serve again becomes a cordoned pod. If it was lowered already, and Kubernetes has
 * not deleted another pod in its place, the target counts it again.
 */
export function lowerMarked(
  state: PoolState,
  pods: ReadonlyMap<string, PodView>,
  now: { readonly batch: number; readonly nowMs: number },
): PoolState {
  const { batch, nowMs } = now
  const marked = state.released.map((entry) => {
    const isMarked = pods.get(entry.uid)?.deletionCost === RELEASE_COST
    return { ...entry, markedMs: isMarked ? (entry.markedMs ?? nowMs) : null }
  })
  const busy = marked.filter((entry) => !isReleasable(entry, pods.get(entry.uid)))
  const released = marked.filter((entry) => !busy.includes(entry))
  const ready = released.filter(
    ({ loweredMs, markedMs }) =>
      loweredMs === null && markedMs !== null && nowMs - markedMs >= MARK_SETTLES_MS,
  )
  const lowered = released.filter(({ loweredMs }) => loweredMs !== null)
  const cordoned = [...state.cordoned, ...busy.map(({ uid }) => ({ uid, sinceMs: nowMs }))]
  const returning = busy.filter(({ loweredMs }) => loweredMs !== null).length
  const target = state.target + Math.min(returning, countLeaving(state, pods.size))
  if (ready.length + lowered.length < batch) return { ...state, target, cordoned, released }
  return {
    ...state,
    cordoned,
    target: target - ready.length,
    released: released.map((entry) => (ready.includes(entry) ? { ...entry, loweredMs: nowMs } : entry)),
  }
}

function isReleasable(entry: Released, pod: PodView | undefined): boolean {
  if (pod === undefined) return false
  return entry.isForced || needsNoCordon(pod) || (pod.phase === 'cordoned' && pod.running === 0)
}

/**
 * Drops pods that no longer exist. There are three cases:
 * - The pod was lowered: the target no longer counts it. It was deleted as planned.
 * - The pod was released, but not lowered yet. It was deleted in place of a lowered pod: both have the deletion cost,
 *   so Kubernetes may choose either. The lowered pod, which still exists, then counts as not lowered, and is lowered
 *   again.
 * - Any other pod: Kubernetes replaces it.
 */
function dropGone(state: PoolState, pods: ReadonlyMap<string, PodView>): PoolState {
  const exists = ({ uid }: { uid: string }) => pods.has(uid)
  const early = state.released.filter((entry) => !exists(entry) && entry.loweredMs === null).length
  const released = state.released.filter(exists)
  const swapped = new Set(released.filter(({ loweredMs }) => loweredMs !== null).slice(0, early))
  return {
    ...state,
    cordoned: state.cordoned.filter(exists),
    released: released.map((entry) => (swapped.has(entry) ? { ...entry, loweredMs: null } : entry)),
  }
}

function takeBack(state: PoolState, existing: number, nowMs: number): PoolState {
  const lowered = state.released.filter(({ loweredMs }) => loweredMs !== null)
  const substituted = new Set(lowered.slice(countLeaving(state, existing)).map(({ uid }) => uid))
  const released = state.released.map((entry) => ({
    ...entry,
    replacedMs: substituted.has(entry.uid) ? (entry.replacedMs ?? nowMs) : null,
  }))
  const replaced = released.filter(
    ({ replacedMs }) => replacedMs !== null && nowMs - replacedMs >= REPLACED_MS,
  )
  const overdue = released.filter(
    ({ replacedMs, loweredMs }) =>
      replacedMs === null && loweredMs !== null && nowMs - loweredMs >= UNDELETED_MS,
  )
  return {
    ...state,
    target: state.target + overdue.length,
    released: released.filter((entry) => !replaced.includes(entry) && !overdue.includes(entry)),
    unplannedRemovals: state.unplannedRemovals + replaced.length,
  }
}

function releaseIdle(state: PoolState, pods: ReadonlyMap<string, PodView>, nowMs: number): PoolState {
  const leaving = state.cordoned.flatMap(({ uid, sinceMs }) => {
    const pod = pods.get(uid)
    if (pod === undefined) return []
    const hasDisobeyed = nowMs - sinceMs >= DISOBEYED_MS && (pod.phase === 'ready' || pod.phase === 'silent')
    return isIdle(pod) || hasDisobeyed ? [toReleased(uid, nowMs, hasDisobeyed)] : []
  })
  const uids = new Set(leaving.map(({ uid }) => uid))
  return {
    ...state,
    cordoned: state.cordoned.filter(({ uid }) => !uids.has(uid)),
    released: [...state.released, ...leaving],
  }
}

function isIdle(pod: PodView): boolean {
  return (
    needsNoCordon(pod) || (pod.phase === 'cordoned' && pod.running === 0 && pod.idleReports >= IDLE_REPORTS)
  )
}
