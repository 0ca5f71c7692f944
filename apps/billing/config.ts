import { z } from 'zod'
import { CatalogPaths } from '#libs/catalog-file/read-catalog-files.ts'
import {
  ENCODED_LOGIN,
  hasReadableLogin,
  HoldGraceMs,
  HostPort,
  KeepAliveTimeoutS,
  ListenHost,
  OpsFields,
  Port,
  Secrets,
  setTogether,
} from '#libs/config/config-fields.ts'
import { checkQueueRedis, QueueRedisFields } from '#libs/config/redis-fields.ts'
import { TraceFields } from '#libs/telemetry/trace-fields.ts'

const PostgresUrl = z
  .url({ protocol: /^postgres(ql)?$/, error: 'expected a postgres:// URL' })
  .refine(hasReadableLogin, ENCODED_LOGIN)

const Fields = z.object({
  ...OpsFields,
  ...TraceFields,
  OPS_PORT: Port.default(9102),
  /** The login of this URL is a member of the role `millrace_service`, under which the service works. */
  DATABASE_URL: PostgresUrl,
  /** The pooler between DATABASE_URL and PostgreSQL. */
  DATABASE_POOLER: z.enum(['none', 'transaction']).default('none'),
  /** The login of this URL owns the tables and migrates them. Default: the login of DATABASE_URL. */
  DATABASE_OWNER_URL: PostgresUrl.optional(),
  /** How billing migrates its database. `MigrationConfig` checks the value `only`. */
  MIGRATE: z.enum(['at-start', 'never'], { error: 'expected at-start, only or never' }).default('at-start'),
  /** URL of a direct connection for notifications; only behind a pooler. */
  DATABASE_DIRECT_URL: PostgresUrl.optional(),
  ...QueueRedisFields,
  /** The address at which gateways connect. */
  GRPC_LISTEN: HostPort.default('127.0.0.1:50090'),
  /** Path of the certificate (PEM). If it is absent, the gRPC port is plaintext. */
  GRPC_TLS_CERT_FILE: z.string().optional(),
  GRPC_TLS_KEY_FILE: z.string().optional(),
  /**
   * Path of an authority's certificate (PEM). If set, a gateway's client certificate must be signed by this authority.
   */
  GRPC_TLS_CLIENT_CA_FILE: z.string().optional(),
  /** The address of the operators' interface: accounts, credits, keys. */
  ADMIN_HOST: ListenHost.default('127.0.0.1'),
  ADMIN_PORT: Port.default(8090),
  /** How long the operators' interface keeps a connection without a request open. */
  KEEP_ALIVE_TIMEOUT_S: KeepAliveTimeoutS,
  ADMIN_TOKEN: z.string().min(16, 'expected at least 16 characters'),
  /**
   * The secrets of the receipts of holds, separated by commas: one secret, or the new secret and then the old secrets.
   * The first secret signs new receipts. A receipt that any of the secrets has signed is accepted. Each secret has at
   * least 32 characters.
   */
  RECEIPT_SECRETS: Secrets,
  /**
   * Paths of JSON files in the format of `CatalogFile`, separated by commas; together they are one catalog. Default:
   * billing serves the catalog of the database.
   */
  CATALOG_FILE: CatalogPaths.optional(),
  HOLD_GRACE_MS: HoldGraceMs,
  /**
   * How many tokens of an account's failed generations are free in a clock hour. Further failures of the hour are
   * charged for the tokens that were computed.
   */
  FREE_TOKENS_PER_HOUR: z.coerce.number().int().min(0).max(1_000_000_000).default(100_000),
  /**
   * How many whole months before the present month stay in the database. `millrace ledger archive` refuses to archive
   * them.
   */
  KEEP_MONTHS: z.coerce.number().int().min(1).max(1_200).default(3),
})

export const BillingConfig = Fields.superRefine(
  setTogether({
    GRPC_TLS_CERT_FILE: ['GRPC_TLS_KEY_FILE'],
    GRPC_TLS_KEY_FILE: ['GRPC_TLS_CERT_FILE'],
    GRPC_TLS_CLIENT_CA_FILE: ['GRPC_TLS_CERT_FILE', 'GRPC_TLS_KEY_FILE'],
  }),
)
  .superRefine(checkQueueRedis)
  .superRefine(checkPooler)
export type BillingConfig = z.infer<typeof BillingConfig>

function checkPooler(config: z.infer<typeof Fields>, context: z.RefinementCtx): void {
  const { MIGRATE, DATABASE_POOLER: pooler, DATABASE_OWNER_URL: owner, DATABASE_DIRECT_URL: direct } = config
  const refuse = (name: string, message: string) => {
    context.addIssue({ code: 'custom', path: [name], message })
  }
  if (pooler === 'none' && direct !== undefined) {
    refuse('DATABASE_DIRECT_URL', 'it is for DATABASE_POOLER=transaction only')
  }
  // A migration keeps its lock and its settings in its session, and a pooler in transaction mode has no sessions.
  if (pooler === 'transaction' && MIGRATE === 'at-start' && owner === undefined) {
    refuse('DATABASE_OWNER_URL', 'migrations need a direct connection, and DATABASE_URL leads to a pooler')
  }
}

/** The configuration for `MIGRATE=only`, which needs only the owner's connection. */
export const MigrationConfig = z.object({ LOG_LEVEL: OpsFields.LOG_LEVEL, DATABASE_OWNER_URL: PostgresUrl })
