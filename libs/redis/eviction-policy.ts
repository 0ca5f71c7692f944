import { Cluster, type Redis } from 'ioredis'
import { ConfigError } from '#libs/config/load-config.ts'
import type { Logger } from '#libs/telemetry/logger.ts'

/**
 * Returns each server's `maxmemory_policy`, which says which keys the server deletes when its memory is full; null if
 * the server does not report it. The policy is read with INFO, which managed servers allow even if they refuse CONFIG.
 */
export async function readEvictionPolicies(redis: Redis | Cluster): Promise<(string | null)[]> {
  const servers = redis instanceof Cluster ? redis.nodes('master') : [redis]
  return await Promise.all(
    servers.map(async (server) => /^maxmemory_policy:(\S+)/m.exec(await server.info('memory'))?.[1] ?? null),
  )
}

/**
 * Returns true if the server would delete keys when its memory is full. It would delete waiting work, and settlements
 * that are not charged yet.
 */
export const evicts = (policy: string | null) => policy !== null && policy !== 'noeviction'

/**
 * Throws a ConfigError if the queue Redis evicts keys. If the server does not report its policy, or does not answer
 * now, that is only logged: billing checks the policy each minute and reports it as a metric, on which there is an
 * alert.
 */
export async function refuseEviction(redis: Redis | Cluster, { log }: { log: Logger }): Promise<void> {
  const policies = await readEvictionPolicies(redis).catch((error: unknown): (string | null)[] => {
    log.warn({ err: error }, 'the eviction policy of the queue Redis was not read')
    return []
  })
  const wrong = policies.find(evicts)
  if (wrong !== undefined) {
    throw new ConfigError([
      `QUEUE_REDIS_URL: its server has the maxmemory-policy ${wrong}; expected noeviction, because a server that evicts ` +
        'loses settlements and work that waits',
    ])
  }
  if (policies.includes(null)) log.error('the queue Redis does not say what it evicts: set noeviction')
}
