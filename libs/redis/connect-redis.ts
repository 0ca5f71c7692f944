import { Cluster, Redis, ReplyError } from 'ioredis'
import { hostOfUrl, readHostPort } from '#libs/config/host-port.ts'
import { namePlace, type RedisPlace, type RedisServerPlace } from '#libs/config/redis-fields.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { awaitRights, reportRefusals, type OnErrorReply, type Rights } from './rights.ts'
import { watchTlsConnections } from './watch-tls-connections.ts'

/**
 * A `Redis` is the client of one server or of the master of a Sentinel group. A `Cluster` is the client of a Redis
 * Cluster. Both classes have the same commands.
 */
export type RedisClient = Redis | Cluster

/**
 * The behaviour of a connection while Redis is unreachable.
 * - `fail-fast`: commands fail within 500 ms, so that a request can be refused in time.
 * - `patient`: commands and subscriptions wait until the server is back. It is for consumers and subscribers. Commands
 *   that were under way when the connection broke are sent again, so only commands that may run twice belong here.
 * - `bounded`: commands wait for the connection that is being opened. They fail if it cannot be opened, or after 5 s.
 *   It is not for blocking commands.
 *
 * All three close a connection on which an answer is long overdue, because the server may have vanished without closing
 * it. `patient` does so after 15 s, which is longer than BullMQ's longest blocking read. Only `patient` repeats a
 * command after a reconnect. With the other two, the caller sends a failed PUBLISH or script again, if it knows that
 * the command is idempotent.
 *
 * A server that answers READONLY was a master and is now a replica. The command fails, and the connection is closed, so
 * that the next connection goes to the new master.
 */
export type RedisPatience = 'fail-fast' | 'patient' | 'bounded'

type Connecting<Place> = {
  readonly place: Place
  /** The connection's name in Redis' list of clients, and in the log. */
  readonly name: string
  readonly patience: RedisPatience
  readonly log: Logger
  /** Rights that the user must have. `connectRedis` waits until the user has them. */
  readonly rights?: Rights
}

/**
 * Ignores a second error of a TLS connection. A server's alert that arrives after the client refused its certificate is
 * a second 'error' (`_emitTLSError` of node:tls). ioredis listens for only one error of each connection, including
 * connections to sentinels and nodes, so without this listener the second error would end the process.
 */
watchTlsConnections((socket) => socket.on('error', () => {}))

/**
 * Opens a connection. Resolves when Redis has answered and the connection's user has the `rights`; there is no time
 * limit. Failed attempts and missing rights are logged.
 */
export async function connectRedis(options: Connecting<RedisServerPlace>): Promise<Redis>
export async function connectRedis(options: Connecting<RedisPlace>): Promise<RedisClient>
export async function connectRedis(options: Connecting<RedisPlace>): Promise<RedisClient> {
  const asking = { rights: false }
  const redis = open(options, asking)
  if (redis.status !== 'ready') {
    const { promise, resolve } = Promise.withResolvers<void>()
    redis.once('ready', resolve)
    await promise
  }
  // ioredis connects to a node of a Cluster at the first command, and would refuse a second command until it is
  // connected. So each node gets a PING first.
  if (redis instanceof Cluster) await Promise.allSettled(redis.nodes('master').map((node) => node.ping()))
  const { rights, name, place, log } = options
  if (rights === undefined) return redis
  asking.rights = true
  await awaitRights(redis, rights, { redis: name, server: namePlace(place), log })
  asking.rights = false
  return redis
}

/** Opens a connection without waiting for Redis. */
export function openRedis(options: Connecting<RedisServerPlace>): Redis
export function openRedis(options: Connecting<RedisPlace>): RedisClient
export function openRedis(options: Connecting<RedisPlace>): RedisClient {
  return open(options, { rights: false })
}

/**
 * Opens a connection. While `asking.rights` is true, error replies of Redis are not logged: the caller is then checking
 * the rights of the connection's user (`awaitRights`), and expects refusals.
 */
function open(
  { place, name, patience, log }: Connecting<RedisPlace>,
  asking: { readonly rights: boolean },
): RedisClient {
  const reportRefusal = reportRefusals({ redis: name, server: namePlace(place), log })
  const onRefusal: OnErrorReply = (error) => {
    if (!asking.rights) reportRefusal(error)
  }
  const redis =
    place.mode === 'cluster'
      ? openCluster(place.urls, { name, patience, onRefusal })
      : openServer(place, { name, patience, onRefusal })
  const report = (error: unknown, node?: string) =>
    log.warn({ err: error, redis: name, node }, 'redis connection failed')
  redis.on('error', (error) => {
    if (!(asking.rights && error instanceof ReplyError)) report(error)
  })
  if (redis instanceof Cluster) {
    redis.on('node error', report)
    // This event is the only sign of a Cluster without slots, or of nodes that all refuse the login.
    redis.on('reconnecting', () => report(new Error('no node of the Cluster can serve')))
  }
  return redis
}

/**
 * The client of one server. It gathers commands into writes: the commands that one callback of the event loop issues
 * are one write, and the commands that the promise callbacks after it issue are another write. The server reads, logs
 * and answers the commands of one write together. Commands of `withNextWrite` wait for another command, at most
 * `MOST_WAIT_MS`. The nodes of a Cluster are ioredis' own clients and do not gather commands.
 */
class Server extends Redis {
  /** The stream whose writes are corked until `#flush` runs. */
  #gathering: Redis['stream'] | null = null
  /** The timer that ends the wait. It is set while all corked commands may wait. */
  #lateFlush: NodeJS.Timeout | undefined
  /** True while `withNextWrite` calls its `send`. */
  #mayWait = false
  /** The channels to which this client has subscribed. */
  readonly #channels = new Set<string>()

  override sendCommand(...sent: Parameters<Redis['sendCommand']>): unknown {
    const [command] = sent
    const channels = command.args.map(String)
    if (command.name === 'subscribe') {
      // After a reconnect ioredis subscribes again and ignores the answers, so a failed answer would end the process as
      // an unhandled rejection. A refusal by the server is reported here. Any other error needs no report: the
      // connection was closed on purpose, or was lost again and ioredis opens the next one.
      command.promise.then(
        () => this.#keep(channels),
        (error: unknown) => {
          if (!(error instanceof ReplyError)) return
          this.emit('error', error)
          this.#subscribeLater(channels)
        },
      )
    } else if (command.name === 'unsubscribe') {
      for (const channel of channels) this.#channels.delete(channel)
    }
    if (this.status === 'ready') this.#gatherWrites()
    return super.sendCommand(...sent)
  }

  #keep(channels: readonly string[]): void {
    for (const channel of channels) this.#channels.add(channel)
  }

  /**
   * Subscribes again to the refused channels to which this client was subscribed before. When a user loses the right to
   * a channel, the server closes the user's connections. ioredis then connects and subscribes again, and forgets a
   * channel that the server refuses.
   */
  #subscribeLater(refused: readonly string[]): void {
    const retry = () => {
      const channels = refused.filter((channel) => this.#channels.has(channel))
      if (channels.length > 0 && this.status !== 'end') this.subscribe(...channels).catch(() => undefined)
    }
    setTimeout(retry, SUBSCRIBE_AGAIN_MS).unref()
  }

  withNextWrite<Result>(send: () => Result): Result {
    this.#mayWait = true
    try {
      return send()
    } finally {
      this.#mayWait = false
    }
  }

  #gatherWrites(): void {
    const gathering = this.#gathering
    if (gathering === null) this.#begin()
    else if (gathering.writableLength >= MOST_GATHERED_BYTES) {
      gathering.uncork()
      gathering.cork()
    }
    if (this.#mayWait || this.#lateFlush === undefined) return
    clearTimeout(this.#lateFlush)
    this.#lateFlush = undefined
    process.nextTick(this.#flush)
  }

  #begin(): void {
    this.#gathering = this.stream
    this.stream.cork()
    if (this.#mayWait) this.#lateFlush = setTimeout(this.#flush, MOST_WAIT_MS)
    else process.nextTick(this.#flush)
  }

  readonly #flush = (): void => {
    this.#lateFlush = undefined
    this.#gathering?.uncork()
    this.#gathering = null
  }
}

/**
 * Delays the commands that `send` issues before it returns. They are sent together with the next command that the
 * connection sends anyway, but at the latest after 20 ms. Use this function for commands whose answer is not urgent.
 * The delay saves a write, which wakes up the server, and an answer, which wakes up this process. The delay of
 * settlements saves 7 % of a request's CPU time at 200 requests/s. For a Cluster the commands are sent at once.
 */
export function withNextWrite<Result>(redis: RedisClient, send: () => Result): Result {
  return redis instanceof Server ? redis.withNextWrite(send) : send()
}

/**
 * The longest time for which commands of `withNextWrite` wait for another command. At 200 requests/s a request comes
 * every 5 ms, so another command nearly always comes within this time. For settlements the wait is half of the time for
 * which billing gathers them (`gatherMs` in `apps/billing/main.ts`, 40 ms).
 */
const MOST_WAIT_MS = 20

/** The most bytes of one write. Without a bound, a burst of a thousand requests would be one write of megabytes. */
const MOST_GATHERED_BYTES = 16_384

/** A refused subscription is tried again after this time. */
const SUBSCRIBE_AGAIN_MS = 1_000

type Behaviour = {
  readonly name: string
  readonly patience: RedisPatience
  readonly onRefusal: OnErrorReply
}

function openServer(place: RedisServerPlace, { name, patience, onRefusal }: Behaviour): Redis {
  const options = {
    ...COMMON,
    reconnectOnError: toReconnect(onRefusal),
    ...PATIENCE[patience],
    retryStrategy: retryDelayMs,
    connectionName: name,
  }
  const { tls, host, port, ...login } = readUrl(place.url)
  if (place.mode === 'single') {
    return new Server({ ...options, ...login, host, port, ...(tls ? { tls: {} } : {}) })
  }
  return new Server({
    ...options,
    ...login,
    name: host,
    sentinels: place.sentinels.map(readHostPort),
    sentinelRetryStrategy: retryDelayMs,
    sentinelCommandTimeout: CONNECT_MS,
    ...(place.sentinelPassword === undefined ? {} : { sentinelPassword: place.sentinelPassword }),
    ...(tls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
  })
}

function openCluster(
  urls: readonly [string, ...string[]],
  { name, patience, onRefusal }: Behaviour,
): Cluster {
  const { tls, username, password } = readUrl(urls[0])
  const nodes = urls.map(readUrl).map(({ host, port }) => ({ host, port }))
  const isPatient = patience === 'patient'
  const { enableOfflineQueue, ...ofNode } = PATIENCE[patience]
  const cluster = new Cluster(nodes, {
    clusterRetryStrategy: retryDelayMs,
    enableOfflineQueue,
    // The map of the Cluster's hash slots is read this often, so that a promoted replica is found even while no command
    // goes to the failed master's slots.
    slotsRefreshInterval: 1_000,
    scaleReads: 'master',
    // A command whose connection was closed may have run, so only `patient` sends it again.
    retryDelayOnFailover: isPatient ? 100 : 0,
    // Host names are not resolved here, because a certificate is for a name.
    ...(tls ? { dnsLookup: (host, found) => found(null, host) } : {}),
    redisOptions: {
      ...COMMON,
      ...ofNode,
      reconnectOnError: toReconnect(onRefusal),
      connectionName: name,
      username,
      password,
      ...(tls ? { tls: {} } : {}),
    },
  })
  cluster.on('+node', (node: Redis) => {
    if (node.options.readOnly !== true) node.ping().catch(() => {})
  })
  return cluster
}

const CONNECT_MS = 3_000

const retryDelayMs = (attempt: number) => Math.min(attempt * 100, 1_000)

const COMMON = {
  connectTimeout: CONNECT_MS,
  // A half-open connection never confirms its end; after this time a new connection is opened without the confirmation.
  disconnectTimeout: 250,
} as const

/**
 * Returns a function that ioredis calls with each error reply. It returns true if the connection must be opened again.
 */
const toReconnect = (onErrorReply: OnErrorReply) => (error: Error) => {
  onErrorReply(error)
  return error.message.startsWith('READONLY')
}

/** A command of a `fail-fast` connection fails after this long without an answer. */
export const FAIL_FAST_MS = 500

const PATIENCE = {
  patient: { enableOfflineQueue: true, maxRetriesPerRequest: null, socketTimeout: 15_000 },
  'fail-fast': {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    commandTimeout: FAIL_FAST_MS,
    socketTimeout: 5_000,
  },
  bounded: {
    enableOfflineQueue: true,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    commandTimeout: 5_000,
    socketTimeout: 10_000,
  },
} as const satisfies Record<RedisPatience, object>

function readUrl(text: string) {
  const url = new URL(text)
  return {
    tls: url.protocol === 'rediss:',
    host: hostOfUrl(url),
    port: Number(url.port || 6379),
    db: Number(url.pathname.slice(1) || 0),
    ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
  }
}
