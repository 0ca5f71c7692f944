import { needsNoCordon } from './choose-pods.ts'
import type { PodView, PoolState } from './types.ts'

/**
 * The way of a pod out of its pool:
 *
 *     cordoned → released → marked → lowered → deleting
 *
 * cordoned: takes nothing more. released: runs nothing, and is to get the deletion cost. marked: Kubernetes lists the
 * cost. lowered: the target is without it, 1 s after the mark, so that the ReplicaSet controller has seen the cost. From
 * every state but the last it can go back. A lowered pod that is not deleted within 60 s goes back; so does one in whose
 * place another pod went.
 */

/** The deletion cost that makes a ReplicaSet choose the pod among those that are equally ready. */
export const RELEASE_COST = -1000

/** Capacity messages in a row that say cordoned and idle. */
const IDLE_REPORTS = 2

/** A worker that has not obeyed a cordon for so long is of an older version: it is released as it is, and drains. */
const DISOBEYED_MS = 60_000

/** From the mark to the lowering. */
const MARK_SETTLES_MS = 1000

/** A lowered pod that still exists after this time goes back. */
const UNDELETED_MS = 60_000

/** For how long another pod must have gone in place of a lowered one: Kubernetes may be replacing an evicted one. */
const REPLACED_MS = 5000

type Released = PoolState['released'][number]

/** How many of the lowered pods Kubernetes is still to delete; in place of the others, other pods have gone. */
export function countLeaving({ target, released }: PoolState, existing: number): number {
  const lowered = released.filter(({ loweredMs }) => loweredMs !== null).length
  return Math.min(lowered, Math.max(0, existing - target))
}

/** Drops what no longer exists, takes back what Kubernetes did not delete, and releases cordoned pods that are idle. */
export function followReleases(
  state: PoolState,
  pods: ReadonlyMap<string, PodView>,
  nowMs: number,
): PoolState {
  return releaseIdle(takeBack(dropGone(state, pods), pods.size, nowMs), pods, nowMs)
}

/** Adds a pod that needs no cordon to the released. */
export function toReleased(uid: string, nowMs: number, isForced = false): Released {
  return { uid, sinceMs: nowMs, isForced, markedMs: null, loweredMs: null, replacedMs: null }
}

/**
 * Lowers the target by the released pods whose mark has settled, if they are at least `batch` with those that are
 * lowered already. A pod that came to serve in the meantime is cordoned instead.
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
 * A lowered pod that is gone has left as planned. A released one that is gone before its own lowering has left in place
 * of a lowered one, as both carry the cost: that one is to be lowered again. Any other is replaced by Kubernetes.
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
