import { z } from 'zod'
import { parseHostPort } from './host-port.ts'

/** Fields for the apps' environment schemas. Values arrive as text. */

export const Port = z.coerce.number('expected a port number').int().min(0).max(65_535)

/** The address on which a process listens: a name or an IP address. An IPv6 address may have brackets. */
export const ListenHost = z.string().transform((text) => text.replace(/^\[(.*)\]$/, '$1'))

/** `host:port`, or `[address]:port` for IPv6. With port 0 the kernel chooses a free port. */
export const HostPort = z
  .string()
  .refine((text) => parseHostPort(text) !== null, 'expected host:port, or [address]:port for IPv6')

/**
 * Returns whether the user name and the password of a URL can be decoded. A `%` that is not written as `%25` may make
 * this impossible. Such a URL must be refused. To use its password without decoding is no solution: the password would
 * be wrong if it also contains a `%25`.
 */
export function hasReadableLogin(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { username, password } = new URL(text)
  try {
    decodeURIComponent(username)
    decodeURIComponent(password)
    return true
  } catch {
    return false
  }
}

export const ENCODED_LOGIN =
  'expected a user name and a password with % as %25, and with / ? # , and spaces as %2F %3F %23 %2C %20'

export const RedisUrl = z
  .string()
  // Checked first, because newlines and tabs are dropped when a URL is parsed, which would change the password.
  .refine((text) => !/\s/.test(text), ENCODED_LOGIN)
  .pipe(z.url({ protocol: /^rediss?$/, error: 'expected a redis:// or rediss:// URL' }))
  .refine(hasReadableLogin, ENCODED_LOGIN)
  .refine((text) => {
    if (!URL.canParse(text)) return false
    const { pathname, search, hash } = new URL(text)
    return /^(?:\/\d*)?$/.test(pathname) && search === '' && hash === ''
  }, 'expected nothing after the host and its port but the number of a database, such as /2')

/** A URL without user name and password, because no client of these addresses sends them. */
export const HttpUrl = z
  .url({ protocol: /^https?$/, error: 'expected an http:// or https:// URL' })
  .refine((text) => {
    if (!URL.canParse(text)) return false
    const { username, password } = new URL(text)
    return username === '' && password === ''
  }, 'expected no user name and no password in the URL')

/**
 * How long a connection without a request stays open. The time must be longer than the time after which a proxy in
 * front of this process closes its idle connections. Otherwise the proxy may send a request just when this process
 * closes the connection.
 */
export const KeepAliveTimeoutS = z.coerce.number().int().min(1).max(86_400).default(72)

const LogLevel = z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])

/** A variable with JSON text, which `schema` validates. */
export function jsonVariable<Schema extends z.ZodType>(schema: Schema) {
  return z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text)
      } catch {
        context.addIssue({ code: 'custom', message: 'expected JSON' })
        return z.NEVER
      }
    })
    .pipe(schema)
}

/**
 * How long a record and a hold outlive their generation's deadline. Defined once, because gateway, worker and billing
 * must have the same value.
 */
export const HoldGraceMs = z.coerce.number().int().min(1_000).max(3_600_000).default(60_000)

/**
 * How long other processes count a process as alive after its last sign of life. For a gateway, 7 s are added. Every
 * process must have the same value. A short time is safe: if a live worker is wrongly counted as dead, its generations
 * only pause.
 */
export const PresenceTtlMs = z.coerce.number().int().min(1_000).max(60_000).default(3_000)

/** How long running generations may continue after SIGTERM. */
export const DrainGraceMs = z.coerce.number().int().min(0).default(25_000)

const ProxyAddress = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: 'expected addresses or ranges, such as 10.0.0.0/8, separated by commas',
})

/** Addresses of the proxies in front of an app, whose `X-Forwarded-For` names the client's address. */
export const TrustedProxies = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(ProxyAddress))

/** The fields that every app has: logging, and the address of /metrics, /healthz and /readyz. */
export const OpsFields = {
  LOG_LEVEL: LogLevel.default('info'),
  OPS_HOST: ListenHost.default('127.0.0.1'),
}

const Secret = z.string().min(32, 'expected at least 32 characters')

/** Secrets, separated by commas: the first is used for what is new, and all of them for what exists. */
export const Secrets = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.tuple([Secret], Secret))

/**
 * Returns a check for `superRefine` of zod. It demands that if a variable is set, the variables that `needs` lists for
 * it are set too.
 */
export function setTogether(needs: Readonly<Record<string, readonly string[]>>) {
  return (config: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void => {
    for (const [name, needed] of Object.entries(needs)) {
      if (config[name] === undefined) continue
      for (const other of needed) {
        if (config[other] !== undefined) continue
        context.addIssue({ code: 'custom', path: [other], message: `${name} needs it` })
      }
    }
  }
}
