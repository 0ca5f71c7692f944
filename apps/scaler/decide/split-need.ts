import type { PodView, PoolSpec } from './types.ts'

/** After a pod has been unscheduled for this time, the model's next pools get one replica in place of this pod. */
const UNSCHEDULED_MS = 60_000

/**
 * Sick pods are replaced, but not more of them than this share of the pool's replicas. One sick pod is always replaced.
 */
const REPLACED_SHARE = 0.25

export type SplitPool = {
  readonly spec: PoolSpec
  /** The least number of replicas at this time, see `floorNow`. */
  readonly floor: number
  /** The replicas that the pool has now. */
  readonly target: number
  readonly pods: readonly PodView[]
  /** Uids of the pods that the scaler itself has released. */
  readonly released: ReadonlySet<string>
}

/**
 * Divides a model's need among its pools. Each pool first gets its floor. The rest of the need goes to the pools in
 * their order (`spec.order`). Each pool gets at most its maximum. Pods that do not serve change this division in two
 * ways:
 * - A pool gets additional replicas in place of its sick pods (see `REPLACED_SHARE`), of its pods that an operator
 *   cordoned, and of its spot pods that the provider is taking away.
 * - A pool may have spot pods that the provider is taking away, and pods that have been unscheduled for 60 s. For each
 *   of these pods, the later pools together get one additional replica. But they get at most as many of these replicas
 *   as the pool itself gets from its floor and from the need.
 *
 * While the need is 0 and the model is not idle yet, one replica stays in a pool that has replicas. If no pool has a
 * replica, none is started.
 */
export function splitNeed(input: {
  readonly raw: number
  /** True if no request was offered, waiting or running for the configured time. */
  readonly isIdle: boolean
  readonly pools: readonly SplitPool[]
}): ReadonlyMap<string, number> {
  const pools = input.pools.toSorted((a, b) => a.spec.order - b.spec.order)
  const last = pools.find(({ target }) => target > 0)
  const keepsLast = input.raw === 0 && !input.isIdle
  const wanted = new Map<string, number>()
  let rest = input.raw - pools.reduce((sum, pool) => sum + floorOf(pool), 0)
  for (const pool of pools) {
    const floor = floorOf(pool)
    const extra = Math.max(0, Math.min(rest, pool.spec.max - floor))
    const share = Math.max(floor + extra, keepsLast && pool === last ? 1 : 0)
    rest -= extra - Math.min(share, missing(pool))
    wanted.set(pool.spec.pool, share === 0 ? 0 : Math.min(pool.spec.max, share + replacements(pool, share)))
  }
  return wanted
}

function floorOf({ spec, floor }: SplitPool): number {
  return Math.min(spec.max, Math.max(spec.min, floor))
}

function replacements(pool: SplitPool, share: number): number {
  const sick = count(pool.pods, ({ phase }) => phase === 'sick')
  const replaced = Math.min(sick, Math.max(1, Math.floor(share * REPLACED_SHARE)))
  const byOperator = count(pool.pods, (pod) => pod.phase === 'cordoned' && pod.operatorCordoned)
  return replaced + byOperator + count(pool.pods, (pod) => isTakenAway(pool, pod) && pod.phase !== 'deleting')
}

/** Returns the number of pods that serve nothing now, and in whose place the later pools get replicas. */
function missing(pool: SplitPool): number {
  return count(
    pool.pods,
    (pod) => isTakenAway(pool, pod) || (pod.phase === 'unscheduled' && pod.sincePhaseMs >= UNSCHEDULED_MS),
  )
}

/**
 * Returns true if the provider is taking the spot pod away. Such a pod still drains, but its slots are already lost.
 */
function isTakenAway({ spec, released }: SplitPool, pod: PodView): boolean {
  return spec.spot && (pod.disrupted || pod.phase === 'deleting') && !released.has(pod.uid)
}

function count(pods: readonly PodView[], matches: (pod: PodView) => boolean): number {
  return pods.filter(matches).length
}
