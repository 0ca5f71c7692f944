import { choosePods, needsNoCordon } from './choose-pods.ts'
import { countLeaving, followReleases, lowerMarked, RELEASE_COST, toReleased } from './release-pods.ts'
import type { PodView, PoolSpec, PoolState } from './types.ts'
import { mostWanted, noteWant } from './want-window.ts'

/** Between two steps down, and the share of the serving pods that one takes. */
const STEP_MS = 60_000
const STEP_SHARE = 0.1

/**
 * rise, uncordon: more is wanted. no-gpu: more is wanted, and no GPU is free. reclaim: the budget gives less than is
 * there is. idle: the model is at rest. step: less was wanted throughout the window. window: less is wanted now.
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
  /** The number of replicas to publish; may be beyond the pool's maximum, to which the HPA clamps it. */
  readonly target: number
  /** Names of all pods whose cordon is to be renewed now. */
  readonly cordon: readonly string[]
  /** Names of pods that still obey a cordon or carry a deletion cost, and should not. */
  readonly uncordon: readonly string[]
  /** Names of pods that are to get the deletion cost. The target follows once Kubernetes lists it. */
  readonly release: readonly string[]
  /** False only with a target of 0 and at most one pod: KEDA goes from any number to 0 at once. */
  readonly isActive: boolean
  readonly reason: ChangeReason
}

export type ChangeInput = {
  readonly spec: PoolSpec
  readonly state: PoolState
  /** Replicas that this pool is to have, from `splitNeed`. */
  readonly raw: number
  /** Replicas that the budget gives the pool, from `fitBudget` for its `protectedWant`. */
  readonly given: number
  /** GPUs of the pool's class that no pod has or will have. */
  readonly freeGpus: number
  /** Nothing was offered, waiting or running for the configured time. */
  readonly isIdle: boolean
  readonly pods: readonly PodView[]
  /** The ScaledObject is paused: Kubernetes keeps what it has. */
  readonly isPaused: boolean
  /** The relative change that the HPA ignores: 0 where the cluster knows `tolerance`, else 0.1. */
  readonly hpaTolerance: number
  readonly nowMs: number
}

/**
 * One pool's change in this second. Up at once: first pods that are cordoned serve again, then the target rises into
 * GPUs that are free. Down only to what was wanted at most over the window, each 60 s by at most 10 % of the serving
 * pods, each of which is cordoned, runs empty, and only then is released. Pods without a node serve nothing and go
 * without steps. Two things skip the window and the steps, never the cordon: a budget that gives less, and a model
 * without any load.
 *
 * All lists are complete in each call, so that a lost message or patch is repeated a second later.
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

/** The state of a pool that is seen for the first time: it is to stay as Kubernetes has it. */
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
 * What the budget is asked for: what is wanted, or what the pool still has while the window, the steps and cordoned pods
 * take it down; nothing for a model at rest. With less, others would count on replicas that are not free yet, and what
 * is being given back to them elsewhere would be kept.
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
  /** How many pods must go together for the HPA to act. */
  readonly batch: number
  /** What the budget was asked for. */
  readonly asked: number
}

type Move = { readonly state: PoolState; readonly reason: ChangeReason }

/** The one direction of this second. */
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

/** Replicas that serve or are to serve. */
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
 * Busiest first: they serve again within a second and have the most to lose. Lowered ones come back last, and raise the
 * target; one in whose place another pod went is counted in the target already.
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

/** A rise that the HPA would ignore becomes the least that it follows, where maximum and GPUs allow it. */
function roundUpToBatch({ spec, existing, batch, freeGpus }: Round, target: number): number {
  const least = existing.size + batch
  const most = Math.min(spec.max, existing.size + Math.floor(freeGpus / spec.gpus))
  return target > existing.size && target < least && least <= most ? least : target
}

/** One step down: pods without a node at once, the others each 60 s. */
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

/** Takes replicas out of service: first those that have no pod yet, then pods by `choosePods`. */
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

/** Fewer cordoned pods than the HPA acts on would idle for ever: they serve again. */
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

/** At the pool's maximum the HPA's own clamp makes a difference that it would otherwise ignore large enough. */
function toPublished(
  { existing, hpaTolerance, spec }: Pick<Round, 'existing' | 'hpaTolerance' | 'spec'>,
  target: number,
): number {
  const least = existing.size + Math.floor(existing.size * hpaTolerance) + 1
  return target === spec.max && target > existing.size && hpaTolerance > 0 ? Math.max(target, least) : target
}
