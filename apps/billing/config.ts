import { z } from 'zod'
import { CatalogPaths } from '#libs/catalog-file/read-catalog-files.ts'
import { HoldGraceMs, HostPort, OpsFields, Port, setTogether } from '#libs/config/config-fields.ts'
import { checkQueueRedis, QueueRedisFields } from '#libs/config/redis-fields.ts'

const PostgresUrl = z.url({ protocol: /^postgres(ql)?$/, error: 'expected a postgres:// URL' })

const ReceiptSecret = z.string().min(32, 'expected at least 32 characters')
const ReceiptSecrets = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.tuple([ReceiptSecret], ReceiptSecret))

const Fields = z.object({
  ...OpsFields,
  OPS_PORT: Port.default(9102),
  /** Its login is a member of the role `millrace_service`, under which the service works. */
  DATABASE_URL: PostgresUrl,
  /** Its login owns the tables and migrates them; default: the same login. */
  DATABASE_OWNER_URL: PostgresUrl.optional(),
  ...QueueRedisFields,
  /** For gateways. */
  GRPC_LISTEN: HostPort.default('127.0.0.1:50090'),
  /** PEM. Without a certificate the gRPC port is plaintext. */
  GRPC_TLS_CERT_FILE: z.string().optional(),
  GRPC_TLS_KEY_FILE: z.string().optional(),
  /** PEM. With it, gateways must have a certificate of this authority. */
  GRPC_TLS_CLIENT_CA_FILE: z.string().optional(),
  /** For operators: accounts, credits, keys. */
  ADMIN_HOST: z.string().default('127.0.0.1'),
  ADMIN_PORT: Port.default(8090),
  ADMIN_TOKEN: z.string().min(16, 'expected at least 16 characters'),
  /**
   * They sign the receipts of holds: one, or the new one and the old ones, separated by commas; each of at least 32
   * characters.
   */
  RECEIPT_SECRETS: ReceiptSecrets,
  /** JSON files as of `CatalogFile`, separated by commas; together they are one catalog. */
  CATALOG_FILE: CatalogPaths,
  HOLD_GRACE_MS: HoldGraceMs,
})

export const BillingConfig = Fields.superRefine(
  setTogether({
    GRPC_TLS_CERT_FILE: ['GRPC_TLS_KEY_FILE'],
    GRPC_TLS_KEY_FILE: ['GRPC_TLS_CERT_FILE'],
    GRPC_TLS_CLIENT_CA_FILE: ['GRPC_TLS_CERT_FILE', 'GRPC_TLS_KEY_FILE'],
  }),
).superRefine(checkQueueRedis)
export type BillingConfig = z.infer<typeof BillingConfig>
