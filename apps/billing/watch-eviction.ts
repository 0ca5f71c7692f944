import { setTimeout as sleep } from 'node:timers/promises'
import { evicts, readEvictionPolicies } from '#libs/redis/eviction-policy.ts'
import type { RedisClient } from '#libs/redis/connect-redis.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { BillingMetrics } from './metrics.ts'

/**
 * Checks every `everyMs` whether the queue Redis may evict keys. Gateways and workers refuse to start on such a Redis,
 * but a setting can change later, or a failover can lead to a server with another setting. Returns a function that
 * stops the checks.
 */
export function watchEviction(options: {
  /** A client whose commands fail when Redis does not answer for seconds. */
  redis: RedisClient
  everyMs: number
  metrics: Pick<BillingMetrics, 'queueEvicts'>
  log: Logger
}): () => void {
  const { redis, everyMs, metrics, log } = options
  const stopping = new AbortController()

  async function look() {
    try {
      const policies = await readEvictionPolicies(redis)
      const wrong = policies.filter((policy) => policy === null || evicts(policy))
      metrics.queueEvicts.set(wrong.length > 0 ? 1 : 0)
      if (wrong.length > 0)
        log.error({ policies: wrong }, 'the queue Redis may evict settlements: set noeviction')
    } catch (error) {
      metrics.queueEvicts.remove()
      if (!stopping.signal.aborted)
        log.warn({ err: error }, 'the eviction policy of the queue Redis was not read')
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
