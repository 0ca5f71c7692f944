import { z } from 'zod'
import { CatalogPaths } from '#libs/catalog-file/read-catalog-files.ts'
import { DrainGraceMs, HoldGraceMs, HostPort, OpsFields, Port, RedisUrl } from '#libs/config/config-fields.ts'

export const GatewayConfig = z.object({
  ...OpsFields,
  OPS_PORT: Port.default(9100),
  HOST: z.string().default('127.0.0.1'),
  PORT: Port.default(8080),
  QUEUE_REDIS_URL: RedisUrl,
  BUS_REDIS_URL: RedisUrl,
  BILLING_ADDRESS: HostPort,
  /** Catalog files that are listed while billing has never been reached; they price nothing. */
  FALLBACK_CATALOG: CatalogPaths.optional(),
  /** The hard limit of one generation, queueing included. */
  GENERATION_DEADLINE_MS: z.coerce.number().int().min(1_000).max(3_600_000).default(600_000),
  /** What is queued ahead of a new generation may take this long; beyond, the model is busy. */
  DRAIN_BOUND_MS: z.coerce.number().int().min(0).default(30_000),
  /** The length of a generation where none has been measured yet. */
  ASSUMED_GENERATION_MS: z.coerce.number().int().min(1).default(10_000),
  HOLD_GRACE_MS: HoldGraceMs,
  DRAIN_GRACE_MS: DrainGraceMs,
})
export type GatewayConfig = z.infer<typeof GatewayConfig>
