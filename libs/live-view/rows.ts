import { z } from 'zod'
import { ModelState, WorkerPhase } from '#libs/contracts/model-state.ts'

/**
 * The live picture of a cluster as the console serves it: rows of models, workers, tenants (`TenantNow`) and requests.
 * The console's page and `millrace top` read them; both ignore unknown fields. Numbers are rounded to three significant
 * digits. A new rate or mean of a model or an engine is sent only if it differs by more than 2 % from the last sent
 * value, so that noise is not sent. `null` means unknown, never 0.
 */

const count = z.number()
const unknownAsNull = z.number().nullable()

/** Quantiles over the last 60 s, in ms; null if nothing was measured. */
export const Quantiles = z.object({ p50: unknownAsNull, p95: unknownAsNull })
export type Quantiles = z.infer<typeof Quantiles>

/** Refused requests per second, by the code of `API_ERRORS`; a code without refusals is absent. */
const ByCode = z.record(z.string(), z.number())

export const ModelNow = z.object({
  /** The model's public id. */
  id: z.string(),
  state: ModelState,
  /** Null while the queue Redis does not answer. */
  waiting: unknownAsNull,
  oldestWaitMs: unknownAsNull,
  running: count,
  slots: count,
  workers: z.object({ ready: count, all: count }),
  askedPerS: count,
  /** Generations that ended, counted by their settlements. */
  endsPerS: count,
  failedPerS: count,
  meanGenerationMs: unknownAsNull,
  expectedWaitMs: unknownAsNull,
  /** The missing slots as `libs/demand` computes them; 0 if the slots suffice. */
  shortSlots: count,
  tokensPerS: z.object({ prompt: count, cached: count, completion: count }),
  queueMs: Quantiles,
  firstTokenMs: Quantiles,
  refusedPerS: ByCode,
})
export type ModelNow = z.infer<typeof ModelNow>

/**
 * A model in the list of all models. It has only the fields that a line of the list shows, because hundreds of lines
 * change each second.
 */
export const ModelLine = ModelNow.pick({
  id: true,
  state: true,
  waiting: true,
  running: true,
  slots: true,
  askedPerS: true,
  expectedWaitMs: true,
  shortSlots: true,
  refusedPerS: true,
}).extend({
  tokensPerS: ModelNow.shape.tokensPerS.pick({ completion: true }),
  firstTokenMs: Quantiles.pick({ p95: true }),
})
export type ModelLine = z.infer<typeof ModelLine>

/**
 * `silent`: the worker has sent messages within the last 10 min, and sends none now. The other states are the
 * phases of `WorkerPhase`.
 */
export const EngineNowState = z.enum([...WorkerPhase.options, 'silent'])
export type EngineNowState = z.infer<typeof EngineNowState>

/** One engine. A worker with several engines has several rows. */
export const WorkerNow = z.object({
  /** `<worker> <model>`. */
  id: z.string(),
  /** Boot id of the worker. */
  worker: z.string(),
  /** WORKER_NAME; in Kubernetes the pod's name. Not unique. */
  name: z.string(),
  model: z.string(),
  state: EngineNowState,
  /** The time since which this console has seen the engine in this state; UTC. */
  since: z.string(),
  running: count,
  slots: count,
  /** A share from 0 to 1. */
  kvUse: unknownAsNull,
  /** The share of the prompt tokens of the last seconds that the engine had cached; 0 to 1. */
  cacheHits: unknownAsNull,
  outputPerS: count,
  meanGenerationMs: unknownAsNull,
  loadingMs: unknownAsNull,
  /** Age of the worker's last message in ms if that is more than 3 s, else 0. */
  seenMs: count,
  node: z.string().nullable(),
  pool: z.string().nullable(),
  /** Requests that the engine has accepted and not begun. This field and the next two are null until it is connected. */
  engineWaiting: unknownAsNull,
  engineVersion: z.string().nullable(),
  contextWindow: unknownAsNull,
  /** This field and all following fields come from the worker's reports. They are null until its first report. */
  host: z.string().nullable(),
  version: z.string().nullable(),
  address: z.string().nullable(),
  pendingSettlements: unknownAsNull,
  /** Why the model does not load. */
  problem: z.string().nullable(),
  /** The parts of a conversation that the model's chat template cannot print. Requests with them are refused. */
  refuses: z.array(z.string()).nullable(),
})
export type WorkerNow = z.infer<typeof WorkerNow>

/** A process that sends reports. */
export const ProcessNow = z.object({
  /** Boot id. */
  id: z.string(),
  kind: z.enum(['gateway', 'worker']),
  name: z.string(),
  host: z.string(),
  pid: count,
  version: z.string(),
  startedAt: z.string(),
  /** Age of the process's last report in ms if that is more than twice the interval of the reports, else 0. */
  seenMs: count,
  /** This field and the next two are null for workers. */
  openStreams: unknownAsNull,
  loopDelayMs: unknownAsNull,
  pendingSettlements: unknownAsNull,
})
export type ProcessNow = z.infer<typeof ProcessNow>

/** One account's load on one model, over all gateways that list the account among their busiest 20. */
export const TenantNow = z.object({
  /** `<account> <model>`. */
  id: z.string(),
  accountId: z.string(),
  model: z.string(),
  waiting: count,
  running: count,
  refusedPerS: count,
})
export type TenantNow = z.infer<typeof TenantNow>

/** One of the 200 oldest open requests of a gateway. */
export const OpenRequest = z.object({
  id: z.string(),
  accountId: z.string(),
  model: z.string(),
  /** `admitting`: not queued yet. `waiting`: queued for a worker. `running`: claimed. */
  stage: z.enum(['admitting', 'waiting', 'running']),
  startedAt: z.string(),
  /** Tokens received from the worker so far. */
  tokens: count,
})
export type OpenRequest = z.infer<typeof OpenRequest>

/** A request, or a group of failures, in the tail of ended requests. */
export const EndedRequest = z.object({
  /** The id of the request; a group has the id of one example. */
  id: z.string(),
  accountId: z.string(),
  model: z.string(),
  /**
   * - `failed`: a group of refusals or failures.
   * - `slow`: one of the slowest of the other requests.
   * - `sample`: a request that was chosen from the rest. The row stands for `weight` requests of the rest.
   */
  kind: z.enum(['failed', 'slow', 'sample']),
  outcome: z.enum(['completed', 'cancelled', 'failed']),
  /** A code of `API_ERRORS`; null unless the request failed. */
  code: z.string().nullable(),
  /** How many requests this row stands for. */
  weight: count,
  endedAt: z.string(),
  /** Time from the request's arrival to its end, in ms. */
  totalMs: count,
  /** Null if the request was never claimed. The next three fields are null if it has no output. */
  waitedMs: unknownAsNull,
  firstTokenMs: unknownAsNull,
  promptTokens: unknownAsNull,
  completionTokens: unknownAsNull,
})
export type EndedRequest = z.infer<typeof EndedRequest>

/** The cluster's sums over all models. */
export const ClusterNow = ModelNow.omit({
  id: true,
  state: true,
  oldestWaitMs: true,
  meanGenerationMs: true,
  expectedWaitMs: true,
  shortSlots: true,
}).extend({
  gateways: count,
  /**
   * The number of generations that failed through a fault of this service, divided by the number of all generations
   * that ended, both within the last 60 s; null if no generation ended.
   */
  failedShare: unknownAsNull,
  /** `used_memory` divided by `maxmemory` of the fullest queue Redis; null if it has no limit. */
  redisMemory: unknownAsNull,
  /** The releases of the processes that send reports, each with the number of its processes. */
  versions: z.record(z.string(), z.number()),
})
export type ClusterNow = z.infer<typeof ClusterNow>

export const Problem = z.object({
  /** `<name> <subject>`. */
  id: z.string(),
  /**
   * The name of the kind of problem. If an alert of `deploy/helm/millrace/files/rules` reports the same problem, this
   * name is the alert's name without `Millrace`.
   */
  name: z.string(),
  severity: z.enum(['page', 'ticket']),
  /** One sentence with the measured values. */
  text: z.string(),
  since: z.string(),
  /** The model or the worker concerned, whose screen is linked. */
  model: z.string().nullable(),
  worker: z.string().nullable(),
  /** A path in this repository, such as `docs/runbooks/queue-old.md`. */
  runbook: z.string(),
})
export type Problem = z.infer<typeof Problem>

/** Equally spaced values up to `until`; null for unknown values. */
export const Series = z.object({
  stepMs: count,
  until: z.string(),
  values: z.array(unknownAsNull),
})
export type Series = z.infer<typeof Series>
