import { z } from 'zod'
import { CatalogPaths } from '#libs/catalog-file/read-catalog-files.ts'
import {
  DrainGraceMs,
  HoldGraceMs,
  HostPort,
  OpsFields,
  Port,
  RedisUrl,
  setTogether,
} from '#libs/config/config-fields.ts'

const Fields = z.object({
  ...OpsFields,
  OPS_PORT: Port.default(9100),
  HOST: z.string().default('127.0.0.1'),
  PORT: Port.default(8080),
  QUEUE_REDIS_URL: RedisUrl,
  BUS_REDIS_URL: RedisUrl,
  BILLING_ADDRESS: HostPort,
  /** PEM. The authority that billing's certificate must be of; without it billing is called in plaintext. */
  BILLING_TLS_CA_FILE: z.string().optional(),
  /** PEM. What this gateway shows to a billing that asks for a certificate. */
  BILLING_TLS_CERT_FILE: z.string().optional(),
  BILLING_TLS_KEY_FILE: z.string().optional(),
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

export const GatewayConfig = Fields.superRefine(
  setTogether({
    BILLING_TLS_CERT_FILE: ['BILLING_TLS_KEY_FILE', 'BILLING_TLS_CA_FILE'],
    BILLING_TLS_KEY_FILE: ['BILLING_TLS_CERT_FILE'],
  }),
)
export type GatewayConfig = z.infer<typeof GatewayConfig>
