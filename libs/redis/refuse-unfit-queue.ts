import { Cluster } from 'ioredis'
import { ConfigError } from '#libs/config/load-config.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { RedisClient } from './connect-redis.ts'
import { refuseEviction } from './eviction-policy.ts'

const EXPECTED = 'expected Redis 7 or later, or Valkey'

/**
 * Throws a ConfigError if the queue Redis cannot be used: it evicts keys, is older than Redis 7, or does not report its
 * `run_id`. Without a run id nothing would show that a server has lost settlements, and no hold would ever expire. If a
 * server does not answer now, that is only logged.
 */
export async function refuseUnfitQueue(redis: RedisClient, { log }: { log: Logger }): Promise<void> {
  await refuseEviction(redis, { log })
  const servers = redis instanceof Cluster ? redis.nodes('master') : [redis]
  for (const server of servers) {
    const info = await server.info('server').catch((error: unknown) => {
      log.warn({ err: error }, 'the version of the queue Redis was not read')
    })
    const problem = info === undefined ? null : findProblem(info)
    if (problem !== null) throw new ConfigError([`QUEUE_REDIS_URL: ${problem}`])
  }
}

/** Returns the reason for which the server with this answer to INFO cannot be used; null if it can. */
export function findProblem(info: string): string | null {
  const version = /^redis_version:((\d+)\S*)/m.exec(info)
  if (version !== null && Number(version[2]) < 7) return `its server is Redis ${version[1]}; ${EXPECTED}`
  if (/^run_id:\w/m.test(info)) return null
  return `its server does not report a run_id in INFO, by which lost settlements are noticed; ${EXPECTED}`
}
