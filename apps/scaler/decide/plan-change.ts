import { choosePods, needsNoCordon } from './choose-pods.ts'
import { countLeaving, followReleases, lowerMarked, RELEASE_COST, toReleased } from './release-pods.ts'
import type { PodView, PoolSpec, PoolState } from './types.ts'
import { mostWanted, noteWant } from './want-window.ts'

/** The time between two steps down, and the share of the serving pods that one step takes. */
const STEP_MS = 60_000
const STEP_SHARE = 0.1

/**
 * The reason for a change. In this list, a pool "has" only the replicas that are neither cordoned nor released.
 * - `paused`: KEDA leaves the pool alone.
 * - `rise`: more replicas are wanted than the pool has, and the target rises.
 * - `uncordon`: more replicas are wanted, and cordoned or released pods serve again.
 * - `no-gpu`: more replicas are wanted, and no GPU is free.
 * - `reclaim`: the budget gives fewer replicas than the pool has.
 * - `idle`: the model has no load.
 * - `step`: throughout the window, fewer replicas were wanted than the pool has, and replicas are taken out of service.
 * - `window`: fewer replicas are wanted now, but either the window is not over or no step is due.
 * - `steady`: nothing is to be changed.
 */
export type ChangeReason =
  | 'paused'
  | 'rise'
  | 'uncordon'
  | 'no-gpu'
  | 'reclaim'
  | 'idle'
  | 'step'
  | 'window'
  | 'steady'

export type Change = {
  readonly state: PoolState
  /** The number of replicas to publish. It may exceed the pool's maximum, to which the HPA clamps it. */
  readonly target: number
  /** Names of all pods whose cordon this round renews. */
  readonly cordon: readonly string[]
  /** Names of pods that obey a cordon or have a deletion cost, but should have neither any more. */
  readonly uncordon: readonly string[]
  /** Names of pods that get the deletion cost now. The target is lowered once Kubernetes lists the cost. */
  readonly release: readonly string[]
  /**
   * False only if the target is 0 and the pool has at most one pod. If a pool is inactive, KEDA removes all of its
   * replicas at once.
   */
  readonly isActive: boolean
  readonly reason: ChangeReason
}

export type ChangeInput = {
  readonly spec: PoolSpec
  readonly state: PoolState
  /** Replicas that this pool should have, from `splitNeed`. */
  readonly raw: number
  /** Replicas that the budget gives the pool, from `fitBudget` for its `protectedWant`. */
  readonly given: number
  /** GPUs of the pool's class that no existing pod and no ordered replica uses. */
  readonly freeGpus: number
  /** True if no request was offered, waiting or running for the configured time. */
  readonly isIdle: boolean
  readonly pods: readonly PodView[]
  /** True if KEDA leaves the pool alone, so that Kubernetes keeps the present pods. */
  readonly isPaused: boolean
  /** The relative change that the HPA ignores: 0 if the cluster knows the HPA's field `tolerance`, else 0.1. */
  readonly hpaTolerance: number
  readonly nowMs: number
}

/**
 * Plans one pool's change in this second.
 * - A pool rises at once. First, pods that are cordoned or released serve again. If they are too few, the target rises
 *   as far as GPUs are free.
 * - A pool falls in steps, and only to the highest number of replicas that was wanted within the last `downWindowMs`
 *   (the window). There is at most one step in 60 s. A step takes at most 10 % of the serving pods out of service, or
 *   the least number of pods by which the HPA changes the Deployment (`batch`), whichever is more. Each of these pods
 *   is cordoned, finishes its generations, and only then is released.
 * - Pods without a node serve nothing, so they are removed without steps.
 * - In two cases the window and the steps are skipped, but never the cordon: the budget gives the pool fewer replicas
 *   than it has, or the model has no load.
 *
 * The result's lists `cordon`, `uncordon` and `release` name in each call all pods for which something is still to be
 * sent or written, so that a lost message or patch is repeated a second later.
 */
export function planChange(input: ChangeInput): Change {
  const { spec, nowMs } = input
  const existing = new Map(
    input.pods.filter(({ phase }) => phase !== 'deleting').map((pod) => [pod.uid, pod]),
  )
  const want = Math.min(input.raw, spec.max)
  const noted = { ...input.state, ...noteWant(input.state, { want, windowMs: spec.downWindowMs, nowMs }) }
  if (input.isPaused) return toChange({ ...input, existing }, adopt(noted, existing.size), 'paused')

  const batch = input.hpaTolerance === 0 ? 1 : Math.floor(existing.size * input.hpaTolerance) + 1
  const round = { ...input, want, existing, batch, asked: protectedWant(noted, input) }
  const moved = move(round, followReleases(noted, existing, nowMs))
  const lowered = lowerMarked(dropPartOfBatch(moved.state, batch), existing, { batch, nowMs })
  return toChange(round, lowered, moved.reason)
}

/**
 * Returns the state of a pool that is seen for the first time: its target is the number of its pods that are not being
 * deleted.
 */
export function adoptPool(pods: readonly PodView[], nowMs: number): PoolState {
  return {
    target: pods.filter(({ phase }) => phase !== 'deleting').length,
    cordoned: [],
    released: [],
    window: [],
    windowSinceMs: nowMs,
    lastDownMs: null,
    unplannedRemovals: 0,
  }
}

/**
 * Returns the number of replicas for which the pool asks the budget. For a model without load this number is 0. For any
 * other model it is the number of wanted replicas or the target, whichever is more. The pool asks for its whole target,
 * because it gives replicas back slowly: after the window (`downWindowMs`), in steps, and only when their pods have
 * finished their generations. If it asked for less than its target, other pools would count on replicas that are not
 * free yet, and would keep replicas that they should give back to this pool.
 */
export function protectedWant(
  state: PoolState,
  pool: { readonly spec: PoolSpec; readonly raw: number; readonly isIdle: boolean },
): number {
  if (pool.isIdle && pool.raw === 0) return 0
  return Math.min(pool.spec.max, Math.max(pool.raw, state.target))
}

type Round = ChangeInput & {
  readonly want: number
  readonly existing: ReadonlyMap<string, PodView>
  /** The least number of replicas by which the HPA changes a Deployment of this size. */
  readonly batch: number
  /** The replicas that the pool asked of the budget. */
  readonly asked: number
}

type Move = { readonly state: PoolState; readonly reason: ChangeReason }

/** Moves the pool in one direction. */
function move(round: Round, state: PoolState): Move {
  const { given, want, isIdle, asked } = round
  const open = openOf(state)
  const wanted = Math.min(want, given)
  if (wanted > open) return rise(round, state, wanted - open)
  if (given < Math.min(asked, open)) return { state: take(round, state, open - given), reason: 'reclaim' }
  if (isIdle && want === 0 && open > 0) return { state: take(round, state, open), reason: 'idle' }
  if (want >= open) return { state, reason: 'steady' }
  const most = mostWanted(state, round.spec.downWindowMs, round.nowMs)
  return most !== null && open > most ? step(round, state, open - most) : { state, reason: 'window' }
}

/** Returns the number of replicas that are neither cordoned nor released. */
function openOf({ target, cordoned, released }: PoolState): number {
  return target - cordoned.length - released.filter(({ loweredMs }) => loweredMs === null).length
}

function rise(round: Round, state: PoolState, count: number): Move {
  const uncordoned = uncordon(state, round.existing, count)
  const rest = count - (openOf(uncordoned) - openOf(state))
  if (rest === 0) return { state: uncordoned, reason: 'uncordon' }
  const fitting = Math.min(rest, Math.floor(round.freeGpus / round.spec.gpus))
  if (fitting <= 0) return { state: uncordoned, reason: rest === count ? 'no-gpu' : 'uncordon' }
  const target = roundUpToBatch(round, uncordoned.target + fitting)
  return { state: { ...uncordoned, target }, reason: 'rise' }
}

/**
 * Takes `count` pods back into service, in this order:
 * - cordoned pods, which serve again within a second; the pods that run the most generations come first;
 * - released pods that the target still counts;
 * - *lowered* pods, which are released pods that the target no longer counts; each of them raises the target by one.
 *
 * If Kubernetes deleted another pod in the place of a lowered pod, the lowered pod serves again whatever `count` is.
 * Such a pod does not raise the target, because the deletion of the other pod has already brought the number of pods
 * down to the target.
 */
function uncordon(state: PoolState, existing: ReadonlyMap<string, PodView>, count: number): PoolState {
  const running = (uid: string) => existing.get(uid)?.running ?? 0
  const lowered = state.released.filter(({ loweredMs }) => loweredMs !== null)
  const leaving = lowered.slice(0, countLeaving(state, existing.size))
  const entries = [
    ...state.cordoned.toSorted((a, b) => running(b.uid) - running(a.uid)),
    ...state.released.filter(({ loweredMs }) => loweredMs === null),
    ...leaving,
  ].slice(0, count)
  const freed = new Set([...entries, ...lowered.slice(leaving.length)].map(({ uid }) => uid))
  return {
    ...state,
    target: state.target + leaving.filter(({ uid }) => freed.has(uid)).length,
    cordoned: state.cordoned.filter(({ uid }) => !freed.has(uid)),
    released: state.released.filter(({ uid }) => !freed.has(uid)),
    unplannedRemovals: state.unplannedRemovals + lowered.length - leaving.length,
  }
}

/**
 * Returns the target to which the pool rises: `target` or a higher number. The HPA ignores a rise of fewer than `batch`
 * replicas. If the rise to `target` is that small, the function returns the least target that the HPA follows, but only
 * if the pool's maximum and the free GPUs allow this higher target.
 */
function roundUpToBatch({ spec, existing, batch, freeGpus }: Round, target: number): number {
  const least = existing.size + batch
  const most = Math.min(spec.max, existing.size + Math.floor(freeGpus / spec.gpus))
  return target > existing.size && target < least && least <= most ? least : target
}

/** Makes one step down: takes pods without a node at once, other pods at most every 60 s. */
function step(round: Round, state: PoolState, surplus: number): Move {
  const { existing, batch, nowMs } = round
  const taken = new Set([...state.cordoned, ...state.released].map(({ uid }) => uid))
  const unscheduled = [...existing.values()].filter(
    ({ uid, phase }) => phase === 'unscheduled' && !taken.has(uid),
  ).length
  const bare = Math.min(surplus, unscheduled + Math.max(0, state.target - existing.size))
  const isDue = state.lastDownMs === null || nowMs - state.lastDownMs >= STEP_MS
  const stepped = isDue ? Math.min(surplus, Math.max(batch, Math.floor(openOf(state) * STEP_SHARE))) : 0
  const count = Math.max(bare, stepped)
  if (count === 0 || count < batch) return { state, reason: 'window' }
  const lastDownMs = count > bare ? nowMs : state.lastDownMs
  return { state: { ...take(round, state, count), lastDownMs }, reason: 'step' }
}

/** Takes replicas out of service: first replicas that have no pod yet, then pods by `choosePods`. */
function take({ existing, nowMs }: Round, state: PoolState, count: number): PoolState {
  const unborn = Math.min(count, Math.max(0, state.target - existing.size))
  const taken = new Set([...state.cordoned, ...state.released].map(({ uid }) => uid))
  const free = [...existing.values()].filter(({ uid }) => !taken.has(uid))
  const chosen = choosePods(free, count - unborn)
  const bare = chosen.filter(needsNoCordon)
  const serving = chosen.filter((pod) => !needsNoCordon(pod))
  return {
    ...state,
    target: state.target - unborn,
    cordoned: [...state.cordoned, ...serving.map(({ uid }) => ({ uid, sinceMs: nowMs }))],
    released: [...state.released, ...bare.map(({ uid }) => toReleased(uid, nowMs))],
  }
}

/**
 * Lets pods serve again if the cordoned and released pods together are fewer than `batch`. The HPA would ignore a
 * change of fewer than `batch` replicas, so these pods would stay idle for ever. Released pods that the target no
 * longer counts (`loweredMs` is not null) stay released.
 */
function dropPartOfBatch(state: PoolState, batch: number): PoolState {
  if (state.cordoned.length + state.released.length >= batch) return state
  return { ...state, cordoned: [], released: state.released.filter(({ loweredMs }) => loweredMs !== null) }
}

function adopt(state: PoolState, target: number): PoolState {
  return { ...state, target, cordoned: [], released: [] }
}

function toChange(
  input: Pick<Round, 'existing' | 'hpaTolerance' | 'spec'>,
  state: PoolState,
  reason: ChangeReason,
): Change {
  const { existing } = input
  const taken = new Map([...state.cordoned, ...state.released].map((entry) => [entry.uid, entry]))
  const pods = [...existing.values()]
  const names = (matches: (pod: PodView) => boolean) => pods.filter(matches).map(({ name }) => name)
  const isReleased = new Set(state.released.map(({ uid }) => uid))
  return {
    state,
    target: toPublished(input, state.target),
    cordon: names(({ uid }) => taken.has(uid)),
    uncordon: names(
      (pod) =>
        !taken.has(pod.uid) &&
        !pod.operatorCordoned &&
        (pod.cordonTerm !== null || pod.deletionCost === RELEASE_COST),
    ),
    release: names(({ uid, deletionCost }) => isReleased.has(uid) && deletionCost !== RELEASE_COST),
    isActive: state.target > 0 || pods.length > 1,
    reason,
  }
}

/**
 * Returns the target to publish. If the target is the pool's maximum, and the HPA would ignore the rise from the number
 * of existing pods to this target, the published target is higher. The HPA clamps it to the maximum.
 */
function toPublished(
  { existing, hpaTolerance, spec }: Pick<Round, 'existing' | 'hpaTolerance' | 'spec'>,
  target: number,
): number {
  const least = existing.size + Math.floor(existing.size * hpaTolerance) + 1
  return target === spec.max && target > existing.size && hpaTolerance > 0 ? Math.max(target, least) : target
}
