import { z } from 'zod'

/**
 * Input and output of the scaler's decisions. All of `decide/` is pure: the time comes in as `nowMs`, and what the
 * leader must remember across a takeover is plain JSON that goes in and comes out (`PoolState`, `BudgetState`,
 * `StartTimes`); the schemas here read it back from the snapshot.
 */

/** The configuration of one model's pool, which is one Deployment. */
export type PoolSpec = {
  /** Name of the Deployment; unique. */
  readonly pool: string
  /** Public id of the model. */
  readonly model: string
  /** Null: its GPUs are not counted against any budget. */
  readonly gpuClass: string | null
  /** Per replica. */
  readonly gpus: number
  readonly min: number
  readonly max: number
  /** Minima by time of day, see `floors.ts`. */
  readonly floors: readonly { readonly cron: string; readonly timezone: string; readonly min: number }[]
  /** Higher ones get GPUs first. */
  readonly priority: number
  /** The pools of one model fill from the lowest to the highest. */
  readonly order: number
  /** Configured; used until a worker reports its own. */
  readonly slots: number
  readonly targetWaitMs: number
  /** Share of the slots that is to be busy, above 0 and at most 1. */
  readonly utilization: number
  readonly idleMs: number
  readonly downWindowMs: number
  /** From the creation of a pod until it serves, as long as no start was measured. */
  readonly startMs: number
  readonly spot: boolean
}

/** One model's load, summed over gateways and workers. Null is unknown, which is never zero. */
export type ModelLoad = {
  /** Offered generations per second, see `rates.ts`. */
  readonly freshPerS: number
  readonly waiting: number
  readonly waitingTokens: number
  readonly running: number
  /** From claim to end; kept while the model has no worker. */
  readonly meanServiceMs: number | null
  readonly meanOutputTokens: number | null
  /** Output tokens per second of one busy replica. */
  readonly decodePerReplica: number | null
  /** Prefilled prompt tokens per second of one busy replica. */
  readonly prefillPerReplica: number | null
  readonly slotsPerReplica: number | null
  /** A request was refused for want of a worker within the last 60 s. */
  readonly unserved: boolean
  /** For how long nothing was offered, waiting or running. */
  readonly idleForMs: number
}

/**
 * unscheduled: no node yet. loading: on a node, its engine is not healthy yet. ready: pulls. cordoned: takes nothing
 * more. draining: its process stops. sick: its engine was restarted three times within ten minutes. deleting: the pod
 * has a deletion time. silent: it runs, and its worker has not reported within 10 s.
 */
export type PodPhase =
  | 'unscheduled'
  | 'loading'
  | 'ready'
  | 'cordoned'
  | 'draining'
  | 'sick'
  | 'deleting'
  | 'silent'

/** A pod as Kubernetes lists it, joined with its worker's last `Capacity` by name and uid. */
export type PodView = {
  readonly name: string
  readonly uid: string
  readonly pool: string
  readonly phase: PodPhase
  readonly running: number
  /** The term of the scaler whose cordon the worker obeys. */
  readonly cordonTerm: number | null
  /** Capacity messages in a row with phase cordoned and nothing running. */
  readonly idleReports: number
  /** For how long it has been in this phase, in ms. */
  readonly sincePhaseMs: number
  /** The pod has the condition DisruptionTarget. */
  readonly disrupted: boolean
  /** Cordoned by an operator (`ctl workers cordon`), not by the scaler. */
  readonly operatorCordoned: boolean
  /** Its annotation `controller.kubernetes.io/pod-deletion-cost`; null without one. */
  readonly deletionCost: number | null
}

const ms = z.number().min(0)

/** The memory of one pool. */
export const PoolState = z.object({
  /** Replicas that are wanted from Kubernetes, with those cordoned and without those released. */
  target: z.int().min(0),
  /** Pods that are to run empty. */
  cordoned: z.array(z.object({ uid: z.string(), sinceMs: ms })),
  /**
   * Pods that are to be deleted. `isForced`: the worker did not obey the cordon; `markedMs`: since when Kubernetes lists
   * the deletion cost; `loweredMs`: since when `target` is without the pod; `replacedMs`: since when another pod has
   * gone in its place.
   */
  released: z.array(
    z.object({
      uid: z.string(),
      sinceMs: ms,
      isForced: z.boolean(),
      markedMs: ms.nullable(),
      loweredMs: ms.nullable(),
      replacedMs: ms.nullable(),
    }),
  ),
  /** The wanted replicas of the window as falling maxima, [ms, replicas]: the first is the window's maximum. */
  window: z.array(z.tuple([ms, z.int().min(0)])),
  /** Since when the window has no gap: nothing is given back before it spans the whole window. */
  windowSinceMs: ms,
  /** Of the last cordon by the window; null before the first. */
  lastDownMs: ms.nullable(),
  /** Pods that were deleted in place of the chosen ones, since the pool is known. */
  unplannedRemovals: z.int().min(0),
})
export type PoolState = z.infer<typeof PoolState>

/** What is remembered of the budgets: since when, in ms, a shortage or an unfairness lasts. */
export const BudgetState = z.object({
  /** By GPU class: a pool gets less than its priority entitles it to. */
  shortSince: z.record(z.string(), ms),
  /** By GPU class and priority: equals are more than the tolerance apart. */
  unevenSince: z.record(z.string(), ms),
})
export type BudgetState = z.infer<typeof BudgetState>

export const NO_BUDGET_STATE: BudgetState = { shortSince: {}, unevenSince: {} }

/** The last durations of each phase of a start, in ms, oldest first; at most 20 each. */
export const StartTimes = z.object({ unscheduled: z.array(ms), loading: z.array(ms) })
export type StartTimes = z.infer<typeof StartTimes>

export const NO_START_TIMES: StartTimes = { unscheduled: [], loading: [] }
