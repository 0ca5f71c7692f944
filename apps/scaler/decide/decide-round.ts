import { fitBudget } from './fit-budget.ts'
import { floorNow } from './floors.ts'
import { boundSpec, isFrozen, type KedaSwitches } from './keda-switches.ts'
import { computeNeed, type Need } from './need.ts'
import { adoptPool, planChange, protectedWant, type Change } from './plan-change.ts'
import { splitNeed } from './split-need.ts'
import type { BudgetState, ModelLoad, PodView, PoolSpec, PoolState } from './types.ts'

/** The state that the leader remembers between decisions, as plain JSON. */
export type DecideState = {
  readonly pools: Readonly<Record<string, PoolState>>
  readonly budget: BudgetState
}

export type RoundModel = {
  readonly model: string
  readonly load: ModelLoad
  readonly pools: readonly {
    readonly spec: PoolSpec
    /** All pods of the pool, including pods that are being deleted. */
    readonly pods: readonly PodView[]
    readonly switches: KedaSwitches
  }[]
}

export type PoolChange = Change & {
  /** The pool's share of the need, in replicas. */
  readonly want: number
  /** The replicas that the budget gives the pool. */
  readonly given: number
}

export type ClassGpus = {
  readonly budget: number
  /** GPUs of pods that exist and of replicas that are ordered. */
  readonly used: number
  /** GPUs of pods that are being deleted; neither in `used` nor in `free`. */
  readonly deleting: number
  readonly free: number
}

/**
 * Makes one round of all decisions:
 * - the need of each model
 * - the share of each pool in this need (`splitNeed`)
 * - the replicas that the budget gives the pool (`fitBudget`)
 * - the change of the pool (`planChange`)
 *
 * A pool that the state does not know is adopted with its existing pods. A pool rises only into GPUs that are
 * physically free. These are the GPUs of the budget without the GPUs of existing, ordered and deleting pods. Pools rise
 * by priority, so a freed GPU goes to the pool to which the budget gives it.
 */
export function decideRound(input: {
  readonly models: readonly RoundModel[]
  readonly budget: Readonly<Record<string, number>>
  readonly state: DecideState
  readonly hpaTolerance: number
  readonly nowMs: number
}): {
  readonly state: DecideState
  readonly needs: ReadonlyMap<string, Need>
  readonly changes: ReadonlyMap<string, PoolChange>
  readonly gpus: ReadonlyMap<string, ClassGpus>
} {
  const { budget, nowMs, hpaTolerance } = input
  const needs = new Map<string, Need>()
  const pools = input.models.flatMap((model) => {
    const asked = askModel(model, input.state, nowMs)
    needs.set(model.model, asked.need)
    return asked.pools
  })
  const fitted = fitBudget({ pools: pools.map(toBudgetPool), budget, state: input.state.budget, nowMs })
  const free = countFree(pools, budget)
  const changes = new Map<string, PoolChange>()
  for (const pool of pools.toSorted((a, b) => b.spec.priority - a.spec.priority)) {
    const { spec, state, pods } = pool
    // A budget that is too small takes nothing from a pool that KEDA may not lower.
    const least = pool.switches.isInPaused ? spec.min : 0
    const given = Math.max(least, fitted.given.get(spec.pool) ?? pool.want)
    const freeGpus = freeFor(free, spec)
    const isPaused = isFrozen(pool.switches)
    const change = planChange({ ...pool, isPaused, raw: pool.want, given, freeGpus, hpaTolerance, nowMs })
    changes.set(spec.pool, { ...change, want: pool.want, given })
    if (spec.gpuClass !== null)
      free.set(
        spec.gpuClass,
        freeGpus - orderedGpus(spec, change.state, pods) + orderedGpus(spec, state, pods),
      )
  }
  return {
    state: {
      pools: Object.fromEntries([...changes].map(([pool, { state }]) => [pool, state])),
      budget: fitted.state,
    },
    needs,
    changes,
    gpus: countGpus(pools, changes, budget),
  }
}

type AskedPool = {
  /** The pool's configuration, with the minimum and the maximum that the switches of the pool allow (`boundSpec`). */
  readonly spec: PoolSpec
  readonly pods: readonly PodView[]
  readonly switches: KedaSwitches
  readonly isIdle: boolean
  readonly state: PoolState
  readonly want: number
  /** The replicas that the pool asks of the budget; see `protectedWant`. */
  readonly asked: number
}

function askModel(
  model: RoundModel,
  state: DecideState,
  nowMs: number,
): { need: Need; pools: readonly AskedPool[] } {
  const need = computeNeed(
    model.load,
    model.pools.map(({ spec }) => spec),
  )
  const isIdle = model.pools.every(({ spec }) => model.load.idleForMs >= spec.idleMs)
  const known = model.pools.map((pool) => {
    const kept = state.pools[pool.spec.pool] ?? adoptPool(pool.pods, nowMs)
    const released = new Set(kept.released.map(({ uid }) => uid))
    const existing = pool.pods.filter(({ phase }) => phase !== 'deleting').length
    const spec = boundSpec(pool.spec, pool.switches, { target: kept.target, existing })
    return { ...pool, spec, state: kept, target: kept.target, floor: floorNow(spec, nowMs), released }
  })
  const wanted = splitNeed({ raw: need.raw, isIdle, pools: known })
  const floor = known.reduce((sum, pool) => sum + pool.floor, 0)
  const pools = known.map((pool) => {
    const want = wanted.get(pool.spec.pool) ?? 0
    return { ...pool, isIdle, want, asked: protectedWant(pool.state, { spec: pool.spec, raw: want, isIdle }) }
  })
  return { need: floor > need.raw ? { ...need, term: 'floor' } : need, pools }
}

function toBudgetPool({ spec, state, asked }: AskedPool) {
  const { pool, gpuClass, gpus, min, priority, order } = spec
  return { pool, gpuClass, gpus, min, priority, order, want: asked, held: state.target }
}

/** Returns, by class, the GPUs that neither existing pods nor ordered replicas use. */
function countFree(
  pools: readonly AskedPool[],
  budget: Readonly<Record<string, number>>,
): Map<string, number> {
  const free = new Map(Object.entries(budget))
  for (const { spec, state, pods } of pools) {
    const left = spec.gpuClass === null ? undefined : free.get(spec.gpuClass)
    if (spec.gpuClass === null || left === undefined) continue
    free.set(spec.gpuClass, left - orderedGpus(spec, state, pods) - deletingGpus(spec, pods))
  }
  return free
}

function freeFor(free: ReadonlyMap<string, number>, { gpuClass }: PoolSpec): number {
  return gpuClass === null ? Infinity : (free.get(gpuClass) ?? Infinity)
}

function orderedGpus(spec: PoolSpec, state: PoolState, pods: readonly PodView[]): number {
  return Math.max(state.target, pods.filter(({ phase }) => phase !== 'deleting').length) * spec.gpus
}

function deletingGpus(spec: PoolSpec, pods: readonly PodView[]): number {
  return pods.filter(({ phase }) => phase === 'deleting').length * spec.gpus
}

function countGpus(
  pools: readonly AskedPool[],
  changes: ReadonlyMap<string, PoolChange>,
  budget: Readonly<Record<string, number>>,
): ReadonlyMap<string, ClassGpus> {
  const counts = Object.entries(budget).map(([gpuClass, gpus]): [string, ClassGpus] => {
    const members = pools.filter(({ spec }) => spec.gpuClass === gpuClass)
    const deleting = members.reduce((sum, { spec, pods }) => sum + deletingGpus(spec, pods), 0)
    const used = members.reduce((sum, { spec, pods, state }) => {
      return sum + orderedGpus(spec, changes.get(spec.pool)?.state ?? state, pods)
    }, 0)
    return [gpuClass, { budget: gpus, used, deleting, free: gpus - used - deleting }]
  })
  return new Map(counts)
}
