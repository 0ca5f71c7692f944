import { Redis } from 'ioredis'
import type { Logger } from '#libs/telemetry/logger.ts'

/**
 * The behaviour of a connection while Redis is unreachable.
 * - `fail-fast`: commands fail within 500 ms, so that a request can be refused in time.
 * - `patient`: commands and subscriptions wait until the server is back; for consumers and subscribers.
 *
 * Both close a connection on which an answer is long overdue (the server vanished without closing it): after 15 s for
 * `patient`, which is longer than BullMQ's longest blocking read.
 *
 * Neither repeats a command by itself after a reconnect: code that knows a PUBLISH or a script to be idempotent repeats it.
 */
export type RedisPatience = 'fail-fast' | 'patient'

/** Opens a connection and resolves when the server has answered; rejects when it does not within 5 s. */
export async function connectRedis(options: {
  url: string
  name: string
  patience: RedisPatience
  log: Logger
}): Promise<Redis> {
  const { url, name, patience, log } = options
  const redis = new Redis(url, { ...redisOptions(patience), connectionName: name, lazyConnect: true })
  redis.on('error', (error) => log.warn({ err: error, redis: name }, 'redis connection failed'))
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`Redis at ${url} did not answer within 5 s`)), 5_000)
  try {
    await Promise.race([redis.connect(), promise])
  } catch (error) {
    redis.disconnect()
    throw new Error(`cannot reach Redis at ${url}`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
  return redis
}

/** The settings alone, for a caller that opens a connection without waiting for the server. */
export function redisOptions(patience: RedisPatience) {
  const retryStrategy = (attempt: number) => Math.min(attempt * 100, 1_000)
  if (patience === 'patient') return { retryStrategy, maxRetriesPerRequest: null, socketTimeout: 15_000 }
  return {
    retryStrategy,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    commandTimeout: 500,
    socketTimeout: 5_000,
  }
}
