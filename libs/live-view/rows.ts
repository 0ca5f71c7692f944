import { z } from 'zod'

/**
 * The live picture of a cluster as the console serves it: rows of models, workers, tenants and requests. The page and
 * `millrace top` read them; both ignore fields that they do not know. Numbers are rounded to three digits, and the rates
 * and means of models and engines stay while they are within 2 % of what was sent, so that noise is not sent again.
 * `null` means not known; it is never 0.
 */

const count = z.number()
const unknownAsNull = z.number().nullable()

/** Quantiles of the last 60 s, in ms; null where nothing was measured. */
export const Quantiles = z.object({ p50: unknownAsNull, p95: unknownAsNull })
export type Quantiles = z.infer<typeof Quantiles>

/** Requests refused a second, by the code of `API_ERRORS`; a code without any is absent. */
const ByCode = z.record(z.string(), z.number())

/**
 * ok: workers keep up. short: more slots are needed. warming: no worker is ready, one is starting. unserved: no worker is
 * ready. switched-off: the catalog has it disabled. fixed: the catalog fixes what callers are answered.
 */
export const ModelNowState = z.enum(['ok', 'short', 'warming', 'unserved', 'switched-off', 'fixed'])
export type ModelNowState = z.infer<typeof ModelNowState>

export const ModelNow = z.object({
  /** The model's public id. */
  id: z.string(),
  state: ModelNowState,
  /** Null while the queue Redis does not answer. */
  waiting: unknownAsNull,
  oldestWaitMs: unknownAsNull,
  running: count,
  slots: count,
  workers: z.object({ ready: count, all: count }),
  askedPerS: count,
  /** Generations that ended, as their settlements are counted. */
  endsPerS: count,
  failedPerS: count,
  meanGenerationMs: unknownAsNull,
  expectedWaitMs: unknownAsNull,
  /** By `libs/demand`; 0 where the slots suffice. */
  shortSlots: count,
  tokensPerS: z.object({ prompt: count, cached: count, completion: count }),
  queueMs: Quantiles,
  firstTokenMs: Quantiles,
  refusedPerS: ByCode,
})
export type ModelNow = z.infer<typeof ModelNow>

/** A model in the list of all: what a line shows, because each second hundreds of lines change. */
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

/** silent: it was there within the last 10 min, and sends nothing. The others are the phases of `Capacity`. */
export const EngineNowState = z.enum(['ready', 'loading', 'cordoned', 'draining', 'sick', 'silent'])
export type EngineNowState = z.infer<typeof EngineNowState>

/** One engine; a worker with several has several rows. */
export const WorkerNow = z.object({
  /** `<worker> <model>`. */
  id: z.string(),
  /** Boot id of the worker. */
  worker: z.string(),
  /** WORKER_NAME; in Kubernetes the pod's name. Not unique. */
  name: z.string(),
  model: z.string(),
  state: EngineNowState,
  /** Since it is in this state as far as this console has seen it; UTC. */
  since: z.string(),
  running: count,
  slots: count,
  /** 0 to 1. */
  kvUse: unknownAsNull,
  /** The part of the prompt tokens of the last seconds that the engine had cached; 0 to 1. */
  cacheHits: unknownAsNull,
  outputPerS: count,
  meanGenerationMs: unknownAsNull,
  loadingMs: unknownAsNull,
  /** Age of its last message in ms, when that is more than 3 s; else 0. */
  seenMs: count,
  node: z.string().nullable(),
  pool: z.string().nullable(),
  /** From its reports; null for a worker that sends none, such as one of an older release. */
  host: z.string().nullable(),
  version: z.string().nullable(),
  /** Accepted by the engine and not begun. */
  engineWaiting: unknownAsNull,
  engineVersion: z.string().nullable(),
  address: z.string().nullable(),
  contextWindow: unknownAsNull,
  pendingSettlements: unknownAsNull,
  /** The reason for which the model does not load. */
  problem: z.string().nullable(),
  /** What of a conversation the model's chat template cannot print, so that requests with it are refused. */
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
  /** Age of its last report, when that is more than twice the interval; else 0. */
  seenMs: count,
  /** Gateways alone have this and the next two. */
  openStreams: unknownAsNull,
  loopDelayMs: unknownAsNull,
  pendingSettlements: unknownAsNull,
})
export type ProcessNow = z.infer<typeof ProcessNow>

/** One account at one model, over all gateways that list it among their busiest 20. */
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

/** A request that a gateway has open: one of its 200 oldest. */
export const OpenRequest = z.object({
  id: z.string(),
  accountId: z.string(),
  model: z.string(),
  /** admitting: until it is queued. waiting: for a worker. running: claimed. */
  stage: z.enum(['admitting', 'waiting', 'running']),
  startedAt: z.string(),
  /** Received from the worker so far. */
  tokens: count,
})
export type OpenRequest = z.infer<typeof OpenRequest>

/** A request, or a group of failures, in the tail of ended requests. */
export const EndedRequest = z.object({
  /** The id of the request; a group has the id of one example. */
  id: z.string(),
  accountId: z.string(),
  model: z.string(),
  /** failed: a group of refusals or failures. slow: one of the slowest. sample: stands for `weight` others. */
  kind: z.enum(['failed', 'slow', 'sample']),
  outcome: z.enum(['completed', 'cancelled', 'failed']),
  /** A code of `API_ERRORS`; null unless the request failed. */
  code: z.string().nullable(),
  /** How many requests this row stands for. */
  weight: count,
  endedAt: z.string(),
  /** From its arrival to its end, in ms. */
  totalMs: count,
  /** Null where it was never claimed, or has no output. */
  waitedMs: unknownAsNull,
  firstTokenMs: unknownAsNull,
  promptTokens: unknownAsNull,
  completionTokens: unknownAsNull,
})
export type EndedRequest = z.infer<typeof EndedRequest>

/** Sums over all models. */
export const ClusterNow = z.object({
  askedPerS: count,
  waiting: unknownAsNull,
  running: count,
  slots: count,
  workers: z.object({ ready: count, all: count }),
  gateways: count,
  tokensPerS: z.object({ prompt: count, cached: count, completion: count }),
  queueMs: Quantiles,
  firstTokenMs: Quantiles,
  refusedPerS: ByCode,
  endsPerS: count,
  failedPerS: count,
  /** The part of the generations that ended within 60 s that failed by our fault; null where none ended. */
  failedShare: unknownAsNull,
  /** `used_memory` over `maxmemory` of the fullest queue Redis; null where it has no limit. */
  redisMemory: unknownAsNull,
  /** Releases of the processes that send reports, with how many run each. */
  versions: z.record(z.string(), z.number()),
})
export type ClusterNow = z.infer<typeof ClusterNow>

export const Problem = z.object({
  /** `<name> <subject>`. */
  id: z.string(),
  /** The alert's name without `Millrace` where one of `deploy/helm/millrace/files/rules` says the same. */
  name: z.string(),
  severity: z.enum(['page', 'ticket']),
  /** A sentence with its values. */
  text: z.string(),
  since: z.string(),
  /** The model or the worker that it concerns: the screen to link. */
  model: z.string().nullable(),
  worker: z.string().nullable(),
  /** In this repository, such as `docs/runbooks/queue-old.md`. */
  runbook: z.string(),
})
export type Problem = z.infer<typeof Problem>

/** Equally spaced values up to `until`; null where nothing is known. */
export const Series = z.object({
  stepMs: count,
  until: z.string(),
  values: z.array(unknownAsNull),
})
export type Series = z.infer<typeof Series>
