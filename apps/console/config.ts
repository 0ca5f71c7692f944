import { z } from 'zod'
import {
  HttpUrl,
  KeepAliveTimeoutS,
  ListenHost,
  OpsFields,
  Port,
  TrustedProxies,
} from '#libs/config/config-fields.ts'
import { formatHostPort } from '#libs/config/host-port.ts'
import {
  BusRedisFields,
  checkBusRedis,
  checkQueueRedis,
  QueueRedisFields,
} from '#libs/config/redis-fields.ts'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Browsers resolve names below `localhost` to this machine without a DNS lookup (RFC 6761). */
const isLoopback = (hostname: string) => LOOPBACK.has(hostname) || hostname.endsWith('.localhost')

/** Browsers send a session's cookie only over TLS, except to this machine. */
const Origin = z
  .url({ protocol: /^https?$/, error: 'expected an https:// address' })
  .refine((text) => new URL(text).origin === text.replace(/\/$/, ''), 'expected an address without a path')
  .refine((text) => {
    const { protocol, hostname } = new URL(text)
    return protocol === 'https:' || isLoopback(hostname)
  }, 'http is for localhost, names below it and 127.0.0.1 alone: expected an https:// address')
  .transform((text) => new URL(text))

const HttpBase = HttpUrl.transform((text) => text.replace(/\/$/, ''))

const Fields = z.object({
  ...OpsFields,
  OPS_PORT: Port.default(9105),
  ...QueueRedisFields,
  ...BusRedisFields,
  HOST: ListenHost.default('127.0.0.1'),
  PORT: Port.default(8091),
  KEEP_ALIVE_TIMEOUT_S: KeepAliveTimeoutS,
  /**
   * The address at which browsers reach the console, such as https://console.example.org. Default:
   * http://127.0.0.1:PORT, or http://[::1]:PORT if `HOST` is ::1.
   */
  CONSOLE_ORIGIN: Origin.optional(),
  /**
   * The address of billing's admin interface. The console has no credential of its own for this interface: each request
   * to it carries the credential of the person or the program that the console serves.
   */
  BILLING_ADMIN_URL: HttpBase,
  /**
   * Addresses of proxies whose `X-Forwarded-For` header is trusted. Failed sign-ins are counted by the client's address
   * in this header.
   */
  TRUSTED_PROXIES: TrustedProxies.optional(),
  /** The address of Grafana, to which charts of longer histories link. */
  GRAFANA_URL: HttpBase.optional(),
  /** The address below which the files of this repository are served, for links to runbooks. */
  DOCS_URL: HttpBase.optional(),
})

export const ConsoleConfig = Fields.superRefine(checkQueueRedis).superRefine(checkBusRedis)
export type ConsoleConfig = z.infer<typeof ConsoleConfig>

export function toOrigin({ CONSOLE_ORIGIN: origin, HOST, PORT: port }: ConsoleConfig): URL {
  const host = HOST === '::1' ? HOST : '127.0.0.1'
  return origin ?? new URL(`http://${formatHostPort({ host, port })}`)
}
