import { hostname } from 'node:os'
import { z } from 'zod'
import {
  DrainGraceMs,
  HoldGraceMs,
  HostPort,
  jsonVariable,
  OpsFields,
  PresenceTtlMs,
  Port,
} from '#libs/config/config-fields.ts'
import {
  BusRedisFields,
  checkBusRedis,
  checkQueueRedis,
  QueueRedisFields,
} from '#libs/config/redis-fields.ts'
import { TraceFields } from '#libs/telemetry/trace-fields.ts'

/** One engine and the queue that its worker pulls from. */
const EngineConfig = z.strictObject({
  model: z.string().min(1),
  /** The name in `<MODELS_DIR>/<files>.json`, the file that lists the parts of the model. */
  files: z.string().regex(/^[\w.-]+$/),
  engine: HostPort,
  /** The engine's `--max-num-seqs`; needed where the engine does not report it. */
  maxNumSeqs: z.int().min(1).optional(),
})
export type EngineConfig = z.infer<typeof EngineConfig>

const Label = z.string().min(1).max(253)

const Fields = z.object({
  ...OpsFields,
  ...TraceFields,
  OPS_PORT: Port.default(9101),
  ...QueueRedisFields,
  ...BusRedisFields,
  /** The name that operators see, as in `millrace workers list`. */
  WORKER_NAME: z.string().min(1).max(200).default(hostname()),
  /** The pod's UID, from the downward API; absent outside Kubernetes. */
  POD_UID: Label.optional(),
  NODE_NAME: Label.optional(),
  /** The Deployment that the pod belongs to. */
  POOL: Label.optional(),
  /**
   * The engines of this process. In production a process has one engine; in small clusters several engines share a
   * process.
   */
  WORKERS: jsonVariable(z.array(EngineConfig).min(1)),
  MODELS_DIR: z.string().default('models'),
  DRAIN_GRACE_MS: DrainGraceMs,
  /** Which prompts share an engine's prefix cache: prompts of the same account, of the same key, or all prompts. */
  PREFIX_SHARING: z.enum(['account', 'key', 'all']).default('account'),
  /** The size of each tokenizer's cache of tokenized texts; 0 disables the cache. */
  PROMPT_CACHE_BYTES: z.coerce.number().int().min(0).max(4_294_967_296).default(33_554_432),
  /**
   * The engine gets a further long prompt while it computes fewer tokens of long prompts than this. It should be several
   * times the engine's `--max-num-batched-tokens`, so that each of its steps is full.
   */
  PREFILL_TOKENS: z.coerce.number().int().min(1).default(32_768),
  /** An engine that runs generations but gives no token for this long is considered hung. */
  ENGINE_SILENCE_MS: z.coerce.number().int().min(1_000).default(60_000),
  /**
   * The worker creates this file to request that a supervisor restarts the engine. If the variable is unset, the worker
   * requests no restart.
   */
  ENGINE_RESTART_FILE: z.string().min(1).optional(),
  /**
   * A start that takes longer counts as failed, and the worker requests a restart. If earlier starts were slow, the
   * limit is higher.
   */
  ENGINE_START_LIMIT_MS: z.coerce.number().int().min(1_000).default(1_800_000),
  /** `serve`: the worker also serves an engine whose release is known to lose tokens. */
  ENGINES_THAT_LOSE_TOKENS: z.enum(['refuse', 'serve']).default('refuse'),
  HOLD_GRACE_MS: HoldGraceMs,
  PRESENCE_TTL_MS: PresenceTtlMs,
})

export const WorkerConfig = Fields.superRefine(checkQueueRedis)
  .superRefine(checkBusRedis)
  .refine(({ ENGINE_RESTART_FILE, WORKERS }) => ENGINE_RESTART_FILE === undefined || WORKERS.length === 1, {
    path: ['ENGINE_RESTART_FILE'],
    message: 'it is for one engine, and WORKERS has several',
  })
export type WorkerConfig = z.infer<typeof WorkerConfig>
