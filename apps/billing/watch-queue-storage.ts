import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisClient } from '#libs/redis/connect-redis.ts'
import { evicts, readQueueStorage } from '#libs/redis/queue-storage.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { BillingMetrics } from './metrics.ts'

/**
 * Checks every `everyMs` whether the queue Redis may lose settlements: it may evict keys, or it writes no append-only
 * file. Gateways and workers do not start on a Redis that evicts, but a setting can change later, or a failover can
 * lead to a server with another setting. Returns a function that stops the checks.
 */
export function watchQueueStorage(options: {
  /** A client whose commands fail when Redis does not answer for seconds. */
  redis: RedisClient
  everyMs: number
  metrics: Pick<BillingMetrics, 'queueEvicts' | 'queueVolatile'>
  log: Logger
}): () => void {
  const { redis, everyMs, metrics, log } = options
  const stopping = new AbortController()

  async function look() {
    try {
      const servers = await readQueueStorage(redis)
      const policies = servers.map(({ policy }) => policy)
      const wrong = policies.filter((policy) => policy === null || evicts(policy))
      const isVolatile = servers.some(({ isAppendOnly }) => isAppendOnly !== true)
      metrics.queueEvicts.set(wrong.length > 0 ? 1 : 0)
      metrics.queueVolatile.set(isVolatile ? 1 : 0)
      if (wrong.length > 0)
        log.error({ policies: wrong }, 'the queue Redis may evict settlements: set noeviction')
      if (isVolatile) log.warn('the queue Redis loses settlements with a restart: set appendonly yes')
    } catch (error) {
      metrics.queueEvicts.remove()
      metrics.queueVolatile.remove()
      if (!stopping.signal.aborted) log.warn({ err: error }, 'the storage of the queue Redis was not read')
    }
  }

  async function run() {
    while (!stopping.signal.aborted) {
      await look()
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  void run()
  return () => stopping.abort()
}
