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

/** One engine and the queue that its worker pulls from. */
const EngineConfig = z.strictObject({
  model: z.string().min(1),
  /** Names `<MODELS_DIR>/<files>.json`, which names the parts of the model. */
  files: z.string().regex(/^[\w.-]+$/),
  engine: HostPort,
  /** The engine's `--max-num-seqs`; needed where the engine does not report it. */
  maxNumSeqs: z.int().min(1).optional(),
})

const Fields = z.object({
  ...OpsFields,
  OPS_PORT: Port.default(9101),
  ...QueueRedisFields,
  ...BusRedisFields,
  /** For operators, as in `millrace workers list`. */
  WORKER_NAME: z.string().min(1).max(200).default(hostname()),
  /** In production one engine per process; in small clusters several engines share a process. */
  WORKERS: jsonVariable(z.array(EngineConfig).min(1)),
  MODELS_DIR: z.string().default('models'),
  DRAIN_GRACE_MS: DrainGraceMs,
  /** An engine that runs generations and gives no token for this long is taken for hung. */
  ENGINE_SILENCE_MS: z.coerce.number().int().min(1_000).default(60_000),
  HOLD_GRACE_MS: HoldGraceMs,
  PRESENCE_TTL_MS: PresenceTtlMs,
})

export const WorkerConfig = Fields.superRefine(checkQueueRedis).superRefine(checkBusRedis)
export type WorkerConfig = z.infer<typeof WorkerConfig>
