import { z } from 'zod'

/** Fields for the apps' environment schemas. Values arrive as text. */

export const Port = z.coerce.number('expected a port number').int().min(0).max(65_535)

/** `host:port`. With port 0 the kernel chooses a free port. */
export const HostPort = z.string().regex(/^[^\s:]+:\d{1,5}$/, 'expected host:port')

export const RedisUrl = z.url({ protocol: /^rediss?$/, error: 'expected a redis:// or rediss:// URL' })

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
 * How long other processes count a process as alive after its last sign of life. Every process must have the same
 * value. It may be short, because a wrong judgement only pauses a generation. Gateways get 7 s more.
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
  OPS_HOST: z.string().default('127.0.0.1'),
}

/** Checks in `superRefine` that a set variable's companions are set too. */
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
