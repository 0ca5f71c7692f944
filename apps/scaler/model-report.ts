import { z } from 'zod'
import { ModelScale } from '#libs/event-bus/scaling-signals.ts'

const number = z.number()

/** One pool of a model as `GET /models` shows it. */
const PoolReport = z.object({
  pool: z.string(),
  /**
   * Three numbers of replicas: `want` is the pool's share of the model's need, `given` is the number that the budget
   * gives, and `target` is the number that is published to KEDA.
   */
  want: number,
  given: number,
  target: number,
  reason: z.string(),
  /**
   * The directions in which KEDA may not change the number of replicas, because annotations of the ScaledObject forbid
   * it.
   */
  pause: z.enum(['none', 'in', 'out', 'both']),
  /** Pods by phase. */
  pods: z.record(z.string(), number),
  /** The numbers of pods that the scaler has cordoned and released. */
  cordoned: number,
  released: number,
})

/**
 * One model's numbers, and the decisions that follow from them. They explain why the model has its present number of
 * replicas.
 */
export const ModelReport = z.object({
  ...ModelScale.shape,
  /** The replicas that the load needs, and the term that decides this number. */
  need: number,
  term: z.string(),
  terms: z.record(z.string(), number),
  offeredPerS: number,
  waiting: number,
  waitingTokens: number,
  oldestMs: number.nullable(),
  running: number,
  meanServiceMs: number.nullable(),
  meanOutputTokens: number.nullable(),
  decodePerReplica: number.nullable(),
  prefillPerReplica: number.nullable(),
  slotsPerReplica: number.nullable(),
  idleForMs: number,
  pools: z.array(PoolReport),
})
export type ModelReport = z.infer<typeof ModelReport>
