import { z } from 'zod'
import type { WorkerPhase } from '#libs/contracts/model-state.ts'

/**
 * Input and output of the scaler's decisions. All of `decide/` is pure: the time is the parameter `nowMs`. The state
 * that the leader must remember across a takeover (`PoolState`, `BudgetState`, `StartTimes`) is plain JSON that is
 * passed in and returned. The schemas here parse it when a snapshot is read.
 */

/** The configuration of one model's pool, which is one Deployment. */
export type PoolSpec = {
  /** Name of the Deployment; unique. */
  readonly pool: string
  /** Public id of the model. */
  readonly model: string
  /** The class of the pool's GPUs. If null, they are not counted against any budget. */
  readonly gpuClass: string | null
  /** GPUs of one replica. */
  readonly gpus: number
  readonly min: number
  readonly max: number
  /** Minima. Each is in force from its beginning until the next minimum begins; see `floors.ts`. */
  readonly floors: readonly { readonly cron: string; readonly timezone: string; readonly min: number }[]
  /** Pools with a higher priority get GPUs first. */
  readonly priority: number
  /** The pools of one model fill from the lowest order to the highest. */
  readonly order: number
  /** Configured number of slots, used until a worker reports its own. */
  readonly slots: number
  readonly targetWaitMs: number
  /** The share of the slots that should be busy, above 0 and at most 1. */
  readonly utilization: number
  readonly idleMs: number
  readonly downWindowMs: number
  /** The time from the creation of a pod until it serves; used until a start was measured. */
  readonly startMs: number
  readonly spot: boolean
}

/** One model's load, summed over gateways and workers. A null value is unknown, and must not count as zero. */
export type ModelLoad = {
  /** Offered generations per second, see `signals/read-demand.ts`. */
  readonly freshPerS: number
  readonly waiting: number
  readonly waitingTokens: number
  readonly running: number
  /** The mean time from claim to end; kept while the model has no worker. */
  readonly meanServiceMs: number | null
  readonly meanOutputTokens: number | null
  /** Output tokens per second of one busy replica. */
  readonly decodePerReplica: number | null
  /** Prefilled prompt tokens per second of one busy replica. */
  readonly prefillPerReplica: number | null
  readonly slotsPerReplica: number | null
  /** True if, within the last 60 s, a request was refused because no worker was ready. */
  readonly unserved: boolean
  /** The time for which no request was offered, waiting or running. */
  readonly idleForMs: number
}

/**
 * `unscheduled`: the pod has no node yet. `deleting`: the pod has a deletion time. `silent`: the pod runs, but its
 * worker has not reported within 10 s. A pod with a node and without a report is `loading`.
 */
export type PodPhase = WorkerPhase | 'unscheduled' | 'deleting' | 'silent'

/** A pod as Kubernetes lists it, joined with its worker's last heartbeat by name and uid. */
export type PodView = {
  readonly name: string
  readonly uid: string
  readonly pool: string
  readonly phase: PodPhase
  readonly running: number
  /** The term of the scaler whose cordon the worker obeys. */
  readonly cordonTerm: number | null
  /** The number of consecutive heartbeats with phase cordoned and nothing running. */
  readonly idleReports: number
  /** The time since the pod entered its phase, in ms. */
  readonly sincePhaseMs: number
  /** True if the pod has the condition DisruptionTarget. */
  readonly disrupted: boolean
  /** True if an operator cordoned the pod (`millrace workers cordon`), not the scaler. */
  readonly operatorCordoned: boolean
  /** The pod's annotation `controller.kubernetes.io/pod-deletion-cost`; null without one. */
  readonly deletionCost: number | null
}

const ms = z.number().min(0)

/** The remembered state of one pool. */
export const PoolState = z.object({
  /** The replicas that Kubernetes should have, including cordoned pods and excluding lowered ones. */
  target: z.int().min(0),
  /** Pods that finish their generations and take no new ones. */
  cordoned: z.array(z.object({ uid: z.string(), sinceMs: ms })),
  /**
   * Pods that are to be deleted, with these times and marks:
   * - `isForced`: true if the worker did not obey the cordon.
   * - `markedMs`: the time since which Kubernetes lists the deletion cost.
   * - `loweredMs`: the time since which `target` no longer counts the pod.
   * - `replacedMs`: the time since which another pod is missing, because Kubernetes deleted it in place of this pod.
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
  /**
   * The window: the numbers of replicas that were wanted within the last `downWindowMs`, as [ms, replicas]. A number is
   * dropped once a later number is at least as high. So the numbers fall from entry to entry, and the first number is
   * the maximum.
   */
  window: z.array(z.tuple([ms, z.int().min(0)])),
  /**
   * The time since which `window` has no gap. The pool takes a step down only once `downWindowMs` has passed since
   * then.
   */
  windowSinceMs: ms,
  /** The time of the last step down that followed from `window`; null before the first. */
  lastDownMs: ms.nullable(),
  /** The number of pods that Kubernetes has deleted in place of released pods since the pool became known. */
  unplannedRemovals: z.int().min(0),
})
export type PoolState = z.infer<typeof PoolState>

/** The remembered state of the budgets: the times (in ms) since which GPUs are short, or shares are uneven. */
export const BudgetState = z.object({
  /** The time since which a pool gets less than its priority entitles it to, by GPU class. */
  shortSince: z.record(z.string(), ms),
  /** The time since which shares within a priority differ by more than the tolerance, by GPU class and priority. */
  unevenSince: z.record(z.string(), ms),
})
export type BudgetState = z.infer<typeof BudgetState>

export const NO_BUDGET_STATE: BudgetState = { shortSince: {}, unevenSince: {} }

/** The last durations of each phase of a start, in ms, oldest first; at most 20 each. */
export const StartTimes = z.object({ unscheduled: z.array(ms), loading: z.array(ms) })
export type StartTimes = z.infer<typeof StartTimes>

export const NO_START_TIMES: StartTimes = { unscheduled: [], loading: [] }
