import { z } from 'zod'
import {
  DrainGraceMs,
  HoldGraceMs,
  HostPort,
  jsonVariable,
  OpsFields,
  Port,
  RedisUrl,
} from '#libs/config/config-fields.ts'

/** One engine and the queue that its worker pulls from. */
const EngineConfig = z.strictObject({
  model: z.string().min(1),
  /** Names `<MODELS_DIR>/<files>.json`, which names the parts of the model. */
  files: z.string().regex(/^[\w.-]+$/),
  engine: HostPort,
  /** The engine's `--max-num-seqs`; needed where the engine does not report it. */
  maxNumSeqs: z.int().min(1).optional(),
})

export const WorkerConfig = z.object({
  ...OpsFields,
  OPS_PORT: Port.default(9101),
  QUEUE_REDIS_URL: RedisUrl,
  BUS_REDIS_URL: RedisUrl,
  /** In production one engine per process; in small clusters several engines share a process. */
  WORKERS: jsonVariable(z.array(EngineConfig).min(1)),
  MODELS_DIR: z.string().default('models'),
  DRAIN_GRACE_MS: DrainGraceMs,
  /** An engine that runs generations and gives no token for this long is taken for hung. */
  ENGINE_SILENCE_MS: z.coerce.number().int().min(1_000).default(60_000),
  HOLD_GRACE_MS: HoldGraceMs,
})
export type WorkerConfig = z.infer<typeof WorkerConfig>
