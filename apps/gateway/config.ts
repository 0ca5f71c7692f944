import { isIPv4, isIPv6 } from 'node:net'
import { z } from 'zod'
import { CatalogPaths } from '#libs/catalog-file/read-catalog-files.ts'
import { LARGEST_BODY_BYTES } from '#libs/contracts/largest-body-bytes.ts'
import { DRAIN_BOUND_MS } from '#libs/demand/demand.ts'
import {
  DrainGraceMs,
  HoldGraceMs,
  HostPort,
  KeepAliveTimeoutS,
  ListenHost,
  OpsFields,
  Port,
  PresenceTtlMs,
  Secrets,
  setTogether,
  TrustedProxies,
} from '#libs/config/config-fields.ts'
import { readHostPort } from '#libs/config/host-port.ts'
import {
  BusRedisFields,
  checkBusRedis,
  checkQueueRedis,
  QueueRedisFields,
} from '#libs/config/redis-fields.ts'
import { TraceFields } from '#libs/telemetry/trace-fields.ts'

const ORIGIN = 'expected origins such as https://chat.example.com, separated by commas, or * alone'

/**
 * An origin as browsers write it: without a path, and without the default port. Pages inside apps have other schemes
 * than http and https.
 */
const Origin = z.string().refine((text) => {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*]+$/.test(text)) return false
  return !/^https?:/.test(text) || (URL.canParse(text) && new URL(text).origin === text)
}, ORIGIN)

const Origins = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.union([z.tuple([z.literal('*')]), z.array(Origin)], ORIGIN))

/** `host:port`, or several IP addresses of one family. */
const BillingAddress = z.string().refine((text) => {
  const addresses = text.split(',')
  if (!addresses.every((address) => HostPort.safeParse(address).success)) return false
  return (
    addresses.length === 1 ||
    [isIPv4, isIPv6].some((isOfFamily) =>
      addresses.every((address) => isOfFamily(readHostPort(address).host)),
    )
  )
}, 'expected host:port, [address]:port for IPv6, or several IP addresses of one family, separated by commas')

const Fields = z.object({
  ...OpsFields,
  ...TraceFields,
  OPS_PORT: Port.default(9100),
  HOST: ListenHost.default('127.0.0.1'),
  PORT: Port.default(8080),
  ...QueueRedisFields,
  ...BusRedisFields,
  BILLING_ADDRESS: BillingAddress,
  /**
   * Path of the certificate (PEM) of the authority that must have signed billing's certificate. If it is absent,
   * billing is called in plaintext.
   */
  BILLING_TLS_CA_FILE: z.string().optional(),
  /** Path of this gateway's certificate (PEM), if billing requires a certificate. */
  BILLING_TLS_CERT_FILE: z.string().optional(),
  BILLING_TLS_KEY_FILE: z.string().optional(),
  /** Catalog files that are used until billing is first reached; they set no prices. */
  FALLBACK_CATALOG: CatalogPaths.optional(),
  /** `on`: `usage` in answers has the charge, as `cost`. */
  USAGE_COST: z.enum(['on', 'off']).default('on'),
  /**
   * The first secret encrypts reasoning that clients keep. Reasoning that any of the secrets has encrypted is read. Each
   * secret has at least 32 characters. Default: a secret that all gateways share, in the queue Redis.
   */
  REASONING_SECRETS: Secrets.optional(),
  /** `on`: `GET /account` serves the page on which the owner of a key reads what the key may read. */
  ACCOUNT_PAGE: z.enum(['on', 'off']).default('on'),
  /** The origins whose pages may call this interface from a browser, or `*` for all origins. */
  CORS_ORIGINS: Origins.default([]),
  /** The longest time of one generation, queueing included. */
  GENERATION_DEADLINE_MS: z.coerce.number().int().min(1_000).max(3_600_000).default(600_000),
  /** A model is busy when the generations that are queued before a new one would take longer than this. */
  DRAIN_BOUND_MS: z.coerce.number().int().min(0).default(DRAIN_BOUND_MS),
  /** The assumed mean time of a generation, used until an engine has measured the mean. */
  ASSUMED_GENERATION_MS: z.coerce.number().int().min(1).default(10_000),
  /** A queued or interrupted generation ends when no worker has served its model for this long. */
  NO_WORKER_LIMIT_MS: z.coerce.number().int().min(1_000).default(60_000),
  /** The longest time that a request waits for a model that is being started, if its client asks; 0: none waits. */
  START_WAIT_S: z.coerce.number().int().min(0).max(3_600).default(300),
  /** How many requests may wait for the start of one model. One account may have a quarter of them. */
  START_WAITS: z.coerce.number().int().min(1).max(100_000).default(256),
  HOLD_GRACE_MS: HoldGraceMs,
  /** The longest time that a request waits for credits which other running requests hold; 0: it does not wait. */
  CREDIT_WAIT_MS: z.coerce.number().int().min(0).max(60_000).default(30_000),
  PRESENCE_TTL_MS: PresenceTtlMs,
  /** If `on`, turns of conversations wait a moment for the workers that have cached the earlier turns. */
  PREFIX_AFFINITY: z.enum(['on', 'off']).default('on'),
  /** Bytes of requests that may wait for one model in the queue Redis. One account may use a quarter of them. */
  QUEUED_BYTES: z.coerce
    .number()
    .int()
    .min(1024 * 1024)
    .default(512 * 1024 * 1024),
  DRAIN_GRACE_MS: DrainGraceMs,
  /** The largest body. It can only be lowered, because workers unpack no larger requests. */
  MAX_BODY_BYTES: z.coerce.number().int().min(1_024).max(LARGEST_BODY_BYTES).default(LARGEST_BODY_BYTES),
  /**
   * Memory for all bodies that arrive or wait to be prepared: half for small bodies, half for large ones. When a half
   * is full, the account that uses the most of it loses its slowest upload.
   */
  BODY_MEMORY_BYTES: z.coerce
    .number()
    .int()
    .default(4 * LARGEST_BODY_BYTES),
  /** Processor time for the preparation of one body. A body that takes more is refused. */
  BODY_PREPARATION_MS: z.coerce.number().int().min(100).max(60_000).default(1_000),
  /**
   * How many requests of one account per second may fail because of their bodies (400, 404 or 413), after a burst of
   * ten times as many. An account that exceeds this rate gets `model_busy` for every request with a body, before the
   * body is read. The same rule applies to an account's requests from one client address, with half of this rate and
   * of this burst.
   */
  REFUSED_BODIES_PER_S: z.coerce.number().min(1).max(1_000_000).default(10),
  /** How many bytes of one account's prompts are counted per second (`count_tokens`), after a burst of ten times as many. */
  COUNT_BYTES_PER_S: z.coerce.number().int().min(1).default(1_000_000),
  /**
   * The largest number of open connections. At most half of them may be from one address that is not a trusted proxy.
   */
  MAX_CONNECTIONS: z.coerce.number().int().min(2).max(1_000_000).default(16_384),
  /** Proxies whose `X-Forwarded-For` names the client's address. */
  TRUSTED_PROXIES: TrustedProxies.default([]),
  KEEP_ALIVE_TIMEOUT_S: KeepAliveTimeoutS,
  /** How long a request may take to arrive, body included. */
  UPLOAD_DEADLINE_MS: z.coerce.number().int().min(1_000).max(3_600_000).default(60_000),
  /** An upload ends if over 10 s fewer bytes per second arrive. */
  UPLOAD_BYTES_PER_S: z.coerce.number().int().min(0).default(1_024),
  /** The headers of a stream are sent after this long without an event. */
  STREAM_HEADERS_AFTER_S: z.coerce.number().int().min(1).max(3_600).default(10),
  /** A comment is sent on a stream after this long without an event. */
  STREAM_KEEP_ALIVE_S: z.coerce.number().int().min(1).max(3_600).default(10),
  /**
   * A client is cut off if its stream has more unread bytes than the sum of this limit and the largest single write.
   */
  STREAM_UNREAD_BYTES: z.coerce
    .number()
    .int()
    .min(65_536)
    .default(1024 * 1024),
})

export const GatewayConfig = Fields.refine(
  ({ BODY_MEMORY_BYTES, MAX_BODY_BYTES }) => BODY_MEMORY_BYTES >= 2 * MAX_BODY_BYTES,
  {
    path: ['BODY_MEMORY_BYTES'],
    error: 'expected at least twice MAX_BODY_BYTES: large bodies get half of it',
  },
)
  .superRefine(
    setTogether({
      BILLING_TLS_CERT_FILE: ['BILLING_TLS_KEY_FILE', 'BILLING_TLS_CA_FILE'],
      BILLING_TLS_KEY_FILE: ['BILLING_TLS_CERT_FILE'],
    }),
  )
  .superRefine(checkQueueRedis)
  .superRefine(checkBusRedis)
export type GatewayConfig = z.infer<typeof GatewayConfig>

/** The limits of the public interface. */
export function toHttpLimits(config: GatewayConfig) {
  return {
    bodyBytes: config.MAX_BODY_BYTES,
    // A body with fewer bytes than `largeBodyBytes`, at most `smallBodyValues` values and no JSON schema occupies the
    // event loop for at most 1 ms.
    largeBodyBytes: 64 * 1024,
    smallBodyValues: 500,
    allBodiesBytes: config.BODY_MEMORY_BYTES,
    refusedBodiesPerS: config.REFUSED_BODIES_PER_S,
    countBytesPerS: config.COUNT_BYTES_PER_S,
    connections: config.MAX_CONNECTIONS,
    trustedProxies: config.TRUSTED_PROXIES,
    uploadMs: config.UPLOAD_DEADLINE_MS,
    uploadBytesPerS: config.UPLOAD_BYTES_PER_S,
    startWaitS: config.START_WAIT_S,
    keepAliveTimeoutMs: config.KEEP_ALIVE_TIMEOUT_S * 1_000,
    // No request that is answered in time takes this long.
    connectionIdleMs: config.GENERATION_DEADLINE_MS + config.UPLOAD_DEADLINE_MS,
    headersAfterS: config.STREAM_HEADERS_AFTER_S,
    keepAliveS: config.STREAM_KEEP_ALIVE_S,
    queuedBytes: config.STREAM_UNREAD_BYTES,
    lastReadS: 30,
  }
}

/** The bounds of admission. */
export function toAdmissionBounds(config: GatewayConfig) {
  return {
    drainBoundMs: config.DRAIN_BOUND_MS,
    assumedGenerationMs: config.ASSUMED_GENERATION_MS,
    mostStartWaits: config.START_WAITS,
  }
}

/**
 * Returns the limits for the preparation of large bodies:
 * - the number of threads, which is two, so that no account can occupy all of them,
 * - the number of bodies that may wait, in total and for one account,
 * - the time and the heap for one body.
 */
export function toBodyThreadLimits({
  BODY_PREPARATION_MS: taskMs,
}: Pick<GatewayConfig, 'BODY_PREPARATION_MS'>) {
  return { threads: 2, waiting: 8_192, waitingOfAccount: 4_096, taskMs, heapMib: 512 }
}
