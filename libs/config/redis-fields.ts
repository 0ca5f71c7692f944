import { z } from 'zod'
import { CellFields } from './cell.ts'
import { HostPort, RedisUrl } from './config-fields.ts'

/** The place of one server, or of the master of a Sentinel group. */
export type RedisServerPlace =
  | { readonly mode: 'single'; readonly url: string }
  | {
      readonly mode: 'sentinel'
      /**
       * The URL gives the user, the password, TLS and the database of the Redis servers. Its host is no address, but
       * the name under which the sentinels know the servers.
       */
      readonly url: string
      /** The sentinels' addresses as `host:port`. With a `rediss` URL the sentinels are reached over TLS too. */
      readonly sentinels: readonly string[]
      readonly sentinelPassword: string | undefined
    }

/** The place of a Redis and how it is reached. */
export type RedisPlace =
  | RedisServerPlace
  /**
   * `urls` are some nodes of the Cluster. The client asks them for all nodes. User, password and TLS are taken from the
   * first URL.
   */
  | { readonly mode: 'cluster'; readonly urls: readonly [string, ...string[]] }

/** Reads one URL, or several separated by commas. */
const RedisUrls = z.string().transform((text, context): readonly [string, ...string[]] => {
  const [first = '', ...others] = text.split(',')
  const wrong = [first, ...others].map((url) => RedisUrl.safeParse(url).error).find((error) => error)
  if (wrong !== undefined) {
    context.addIssue({ code: 'custom', message: wrong.issues.map(({ message }) => message).join('; ') })
  }
  return [first, ...others]
})

const Sentinels = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(HostPort))

export const QueueRedisFields = {
  ...CellFields,
  QUEUE_REDIS_MODE: z.enum(['single', 'sentinel', 'cluster']).default('single'),
  /**
   * The URL of the server. With a Cluster, the URLs of one or several nodes, separated by commas. With Sentinel, the
   * host in the URL is the master's name.
   */
  QUEUE_REDIS_URL: RedisUrls,
  /** Addresses as `host:port`, separated by commas. */
  QUEUE_REDIS_SENTINELS: Sentinels.optional(),
  QUEUE_REDIS_SENTINEL_PASSWORD: z.string().optional(),
}

export const BusRedisFields = {
  ...CellFields,
  BUS_REDIS_MODE: z
    .enum(['single', 'sentinel'], {
      error: ({ input }) =>
        input === 'cluster'
          ? 'a Cluster sends every message to all of its nodes and cannot say whether anyone received it: ' +
            'use single servers, separated by commas in BUS_REDIS_URL, or Sentinel'
          : undefined,
    })
    .default('single'),
  /**
   * The URLs of one or several servers, separated by commas; each gateway uses one of them. With Sentinel the hosts are
   * the masters' names.
   */
  BUS_REDIS_URL: RedisUrls,
  BUS_REDIS_SENTINELS: Sentinels.optional(),
  BUS_REDIS_SENTINEL_PASSWORD: z.string().optional(),
}

type QueueRedis = z.infer<z.ZodObject<typeof QueueRedisFields>>
type BusRedis = z.infer<z.ZodObject<typeof BusRedisFields>>

/** Checks in `superRefine` that the fields of the queue Redis fit its mode. */
export function checkQueueRedis(config: QueueRedis, context: z.RefinementCtx): void {
  const { QUEUE_REDIS_MODE: mode, QUEUE_REDIS_URL: urls } = config
  const refuse = (message: string) => {
    context.addIssue({ code: 'custom', path: ['QUEUE_REDIS_URL'], message })
  }
  if (mode !== 'cluster' && urls.length > 1) refuse(`expected one URL: QUEUE_REDIS_MODE is ${mode}`)
  if (mode === 'cluster' && urls.some((url) => !['', '/', '/0'].includes(new URL(url).pathname))) {
    refuse('expected no database number: a Cluster has only database 0')
  }
  checkSentinels('QUEUE_REDIS', config, context)
}

/** Checks in `superRefine` that the fields of the bus Redis fit its mode. */
export function checkBusRedis(config: BusRedis, context: z.RefinementCtx): void {
  const { BUS_REDIS_URL: urls } = config
  if (new Set(urls).size < urls.length) {
    context.addIssue({ code: 'custom', path: ['BUS_REDIS_URL'], message: 'expected different servers' })
  }
  checkSentinels('BUS_REDIS', config, context)
}

function checkSentinels(
  prefix: string,
  config: Readonly<Record<string, unknown>>,
  context: z.RefinementCtx,
): void {
  const refuse = (name: string, message: string) => {
    context.addIssue({ code: 'custom', path: [name], message })
  }
  const [sentinels, password] = [`${prefix}_SENTINELS`, `${prefix}_SENTINEL_PASSWORD`]
  if (config[`${prefix}_MODE`] === 'sentinel') {
    if (config[sentinels] === undefined) refuse(sentinels, `${prefix}_MODE=sentinel needs it`)
    return
  }
  for (const name of [sentinels, password]) {
    if (config[name] !== undefined) refuse(name, `it is for ${prefix}_MODE=sentinel only`)
  }
}

export function toQueueRedis(config: Readonly<QueueRedis>): RedisPlace {
  const { QUEUE_REDIS_MODE: mode, QUEUE_REDIS_URL: urls } = config
  if (mode === 'cluster') return { mode, urls }
  if (mode === 'single') return { mode, url: urls[0] }
  const sentinels = config.QUEUE_REDIS_SENTINELS ?? []
  return { mode, url: urls[0], sentinels, sentinelPassword: config.QUEUE_REDIS_SENTINEL_PASSWORD }
}

/** Returns where a Redis is, for operators: without the login. */
export function namePlace(place: RedisPlace): string {
  const urls = place.mode === 'cluster' ? place.urls : [place.url]
  return urls
    .map((url) => {
      const { protocol, host, pathname } = new URL(url)
      return `${protocol}//${host}${pathname}`
    })
    .join(',')
}

/** Returns all servers of the bus, in the configured order. */
export function toBusRedis(config: Readonly<BusRedis>): readonly [RedisServerPlace, ...RedisServerPlace[]] {
  const { BUS_REDIS_MODE: mode, BUS_REDIS_URL: urls, BUS_REDIS_SENTINELS: sentinels = [] } = config
  const toPlace = (url: string): RedisServerPlace =>
    mode === 'single'
      ? { mode, url }
      : { mode, url, sentinels, sentinelPassword: config.BUS_REDIS_SENTINEL_PASSWORD }
  const [first, ...others] = urls
  return [toPlace(first), ...others.map(toPlace)]
}
