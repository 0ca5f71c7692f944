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
  /** Names `<MODELS_DIR>/<files>.json`, which tells of which parts the model consists. */
  files: z.string().regex(/^[\w.-]+$/),
  engine: HostPort,
  /** What the engine was started with (`--max-num-seqs`); needed where the engine does not say it itself. */
  maxNumSeqs: z.int().min(1).optional(),
})

export const WorkerConfig = z.object({
  ...OpsFields,
  OPS_PORT: Port.default(9101),
  QUEUE_REDIS_URL: RedisUrl,
  BUS_REDIS_URL: RedisUrl,
  /** In production one engine a process; small clusters share one. */
  WORKERS: jsonVariable(z.array(EngineConfig).min(1)),
  MODELS_DIR: z.string().default('models'),
  DRAIN_GRACE_MS: DrainGraceMs,
  /** An engine that runs generations and gives no token for this long hangs. */
  ENGINE_SILENCE_MS: z.coerce.number().int().min(1_000).default(60_000),
  HOLD_GRACE_MS: HoldGraceMs,
})
export type WorkerConfig = z.infer<typeof WorkerConfig>
