import type { BudgetState } from './types.ts'

export type BudgetPool = {
  readonly pool: string
  readonly gpuClass: string | null
  readonly gpus: number
  readonly min: number
  /** Replicas that the pool should have or may still keep, see `protectedWant`; at least `min`. */
  readonly want: number
  readonly priority: number
  readonly order: number
  /** Replicas that the pool has now: its target. */
  readonly held: number
}

/**
 * Pools of lower priority give back replicas once a pool of higher priority has been short for this time. Before a GPU
 * is free, two more delays follow: the period of the HPA (15 s), and the time until an empty worker has reported. With
 * 15 s in place of these 10 s, some shortages lasted more than 30 s longer than the longest drain.
 */
const SHORT_MS = 10_000

/**
 * A pool's share is the number of replicas that it is given, divided by the number that it wants. The shares of pools
 * of equal priority are equalized once they have differed by more than UNEVEN_SHARE for UNEVEN_MS.
 */
const UNEVEN_MS = 60_000
const UNEVEN_SHARE = 0.25

/**
 * Divides each GPU class's budget among its pools. First every pool gets its minimum. Then the pools get more replicas,
 * in the order of their priorities from high to low. Pools of equal priority get one replica after another. The next
 * replica goes to the pool with the smallest share (its given replicas ÷ its wanted replicas), among the pools that
 * want more and whose replica fits into the GPUs that are left. If shares are equal, a pool comes first if it has more
 * replicas now than it has been given so far. After that, the order and the names of the pools decide. Two delays
 * prevent GPUs from moving to and fro:
 * - A pool keeps the replicas that it has and wants until a pool of higher priority has been short for 10 s.
 * - Against pools of its own priority, a pool keeps these replicas until another pool's share has been lower by more
 *   than 0.25 for 60 s.
 *
 * Never gives more than the budget, even if the minima exceed it. Gives every minimum if the budget allows it. A pool
 * without a class, or of a class without a budget, gets what it wants. `reclaim` lists the replicas that a pool must
 * give back although it wants them.
 */
export function fitBudget(input: {
  readonly pools: readonly BudgetPool[]
  readonly budget: Readonly<Record<string, number>>
  readonly state: BudgetState
  readonly nowMs: number
}): {
  readonly given: ReadonlyMap<string, number>
  readonly reclaim: ReadonlyMap<string, number>
  readonly state: BudgetState
} {
  const { pools, budget, nowMs } = input
  const given = new Map(pools.map(({ pool, want }) => [pool, want]))
  const state: BudgetState = { shortSince: {}, unevenSince: {} }
  for (const [gpuClass, gpus] of Object.entries(budget)) {
    const members = pools
      .filter((pool) => pool.gpuClass === gpuClass)
      .map((pool) => ({ ...pool, want: Math.max(pool.want, pool.min) }))
    const fitted = fitClass(members, { gpuClass, gpus, state: input.state, nowMs })
    for (const [pool, replicas] of fitted.given) given.set(pool, replicas)
    Object.assign(state.shortSince, fitted.state.shortSince)
    Object.assign(state.unevenSince, fitted.state.unevenSince)
  }
  return { given, reclaim: toReclaim(pools, given), state }
}

type Class = {
  readonly gpuClass: string
  readonly gpus: number
  readonly state: BudgetState
  readonly nowMs: number
}

function fitClass(pools: readonly BudgetPool[], { gpuClass, gpus, state, nowMs }: Class) {
  const unevenSince: Record<string, number> = {}
  const levelled = new Set<number>()
  const settled = allocate(pools, gpus, { levelled, isKept: false })
  for (const priority of unevenPriorities(pools, settled)) {
    const key = `${gpuClass} ${priority}`
    const sinceMs = state.unevenSince[key] ?? nowMs
    unevenSince[key] = sinceMs
    if (nowMs - sinceMs >= UNEVEN_MS) levelled.add(priority)
  }
  const entitled = allocate(pools, gpus, { levelled, isKept: false })
  const current = allocate(pools, gpus, { levelled, isKept: true })
  const isShort = pools.some(({ pool }) => (current.get(pool) ?? 0) < (entitled.get(pool) ?? 0))
  if (!isShort) return { given: current, state: { shortSince: {}, unevenSince } }
  const sinceMs = state.shortSince[gpuClass] ?? nowMs
  const given = nowMs - sinceMs >= SHORT_MS ? entitled : current
  return { given, state: { shortSince: { [gpuClass]: sinceMs }, unevenSince } }
}

/**
 * Returns the priorities in which the shares of the pools are uneven: one pool wants more replicas, while another pool
 * of the same priority has more replicas than its minimum, and has a share (given ÷ want) that is larger than the first
 * pool's share by more than `UNEVEN_SHARE`.
 */
function unevenPriorities(pools: readonly BudgetPool[], given: ReadonlyMap<string, number>): number[] {
  return prioritiesOf(pools).filter((priority) => {
    const equals = pools.filter((pool) => pool.priority === priority && pool.want > 0)
    const replicas = (pool: BudgetPool) => given.get(pool.pool) ?? 0
    const short = equals.filter((pool) => replicas(pool) < pool.want)
    const donors = equals.filter((pool) => replicas(pool) > pool.min)
    const least = Math.min(...short.map((pool) => replicas(pool) / pool.want))
    const most = Math.max(...donors.map((pool) => replicas(pool) / pool.want))
    return most - least > UNEVEN_SHARE
  })
}

/**
 * Divides the GPUs of one class among its pools, in three steps. In each step, pools of higher priority come first.
 * 1. Every pool gets its minimum.
 * 2. With `isKept`, every pool keeps the replicas that it has and wants, even if a pool of higher priority wants more.
 * 3. In each priority, the pools first keep the replicas that they have and want. Then they get the further replicas
 *    that they want.
 *
 * In a priority of `levelled`, a pool may lose replicas to another pool of the same priority. So two steps differ
 * there. In step 2, the pools of the priority together keep the GPUs of the replicas that they have and want, and these
 * GPUs are divided again among these pools. In step 3, the pools do not first keep the replicas that they have.
 */
function allocate(
  pools: readonly BudgetPool[],
  gpus: number,
  rules: { readonly levelled: ReadonlySet<number>; readonly isKept: boolean },
): ReadonlyMap<string, number> {
  const draft: Draft = { given: new Map(pools.map(({ pool }) => [pool, 0])), room: gpus }
  const groups = prioritiesOf(pools).map((priority) => ({
    members: pools.filter((pool) => pool.priority === priority),
    isLevelled: rules.levelled.has(priority),
  }))
  for (const { members } of groups) fill(members, draft, (pool) => pool.min)
  if (rules.isKept) {
    for (const { members, isLevelled } of groups) {
      if (isLevelled) fillTogether(members, draft)
      else fill(members, draft, kept)
    }
  }
  for (const { members, isLevelled } of groups) {
    if (!isLevelled) fill(members, draft, kept)
    fill(members, draft, (pool) => pool.want)
  }
  return draft.given
}

type Draft = { readonly given: Map<string, number>; room: number }

function kept({ min, held, want }: BudgetPool): number {
  return Math.max(min, Math.min(held, want))
}

/** Divides again, among these pools, the GPUs that they have beyond their minima. */
function fillTogether(members: readonly BudgetPool[], draft: Draft): void {
  const had = members.reduce((sum, pool) => sum + (kept(pool) - pool.min) * pool.gpus, 0)
  const part: Draft = { given: draft.given, room: Math.min(had, draft.room) }
  const before = part.room
  fill(members, part, (pool) => pool.want)
  draft.room -= before - part.room
}

/**
 * Gives the pools of `group` one replica after another. Stops when each pool has reached its limit, or when no pool's
 * replica fits into the GPUs that are left (`draft.room`).
 */
function fill(group: readonly BudgetPool[], draft: Draft, limit: (pool: BudgetPool) => number): void {
  const replicas = (pool: BudgetPool) => draft.given.get(pool.pool) ?? 0
  for (;;) {
    const next = group
      .filter((pool) => replicas(pool) < limit(pool) && pool.gpus <= draft.room)
      .reduce<BudgetPool | null>(
        (best, pool) => (best === null || isBefore(pool, best, replicas) ? pool : best),
        null,
      )
    if (next === null) return
    draft.given.set(next.pool, replicas(next) + 1)
    draft.room -= next.gpus
  }
}

function isBefore(a: BudgetPool, b: BudgetPool, replicas: (pool: BudgetPool) => number): boolean {
  // The shares are cross-multiplied, so that equal shares compare as equal.
  const share = replicas(a) * b.want - replicas(b) * a.want
  if (share !== 0) return share < 0
  const [hasA, hasB] = [replicas(a) < a.held, replicas(b) < b.held]
  if (hasA !== hasB) return hasA
  return a.order === b.order ? a.pool < b.pool : a.order < b.order
}

function prioritiesOf(pools: readonly BudgetPool[]): number[] {
  return [...new Set(pools.map(({ priority }) => priority))].toSorted((a, b) => b - a)
}

function toReclaim(
  pools: readonly BudgetPool[],
  given: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const reclaim = pools.map(({ pool, want, held }): [string, number] => [
    pool,
    Math.min(held, want) - (given.get(pool) ?? 0),
  ])
  return new Map(reclaim.filter(([, replicas]) => replicas > 0))
}
