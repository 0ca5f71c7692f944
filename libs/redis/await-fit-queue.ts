import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, type Redis } from 'ioredis'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { RedisClient } from './connect-redis.ts'
import { evicts, readQueueStorage, type QueueStorage } from './queue-storage.ts'

const LOOK_EVERY_MS = 1_000
const LOG_EVERY_MS = 10_000

const EXPECTED = 'expected Redis 7 or later, or Valkey'

/**
 * Resolves once the queue Redis can be used: it does not evict keys, is Redis 7 or later, and reports its `run_id`.
 * Without a run id nothing would show that a server has lost settlements, and no hold would ever expire. While the
 * server cannot be used, it is checked every second, and the reasons are logged every 10 s. If the server does not
 * answer, or does not report its eviction policy, this is only logged. The function does not wait until this has
 * changed, because billing checks the eviction policy each minute and reports it as a metric, which an alert watches.
 */
export async function awaitFitQueue(redis: RedisClient, { log }: { log: Logger }): Promise<void> {
  let loggedMs = -Infinity
  for (;;) {
    const problems = await findProblems(redis, log)
    if (problems.length === 0) return
    if (performance.now() - loggedMs >= LOG_EVERY_MS) {
      log.error({ problems }, 'the queue Redis cannot be used as it is set: waiting for a change')
      loggedMs = performance.now()
    }
    await sleep(LOOK_EVERY_MS)
  }
}

async function findProblems(redis: RedisClient, log: Logger): Promise<string[]> {
  const servers = redis instanceof Cluster ? redis.nodes('master') : [redis]
  const found = await Promise.all(
    servers.map(async (server: Redis) => {
      try {
        const [[storage], info] = await Promise.all([readQueueStorage(server), server.info('server')])
        if (storage?.policy === null) log.error('the queue Redis does not say what it evicts: set noeviction')
        return [findEviction(storage), findProblem(info)]
      } catch (error) {
        log.warn({ err: error }, 'the settings of the queue Redis were not read')
        return []
      }
    }),
  )
  return [...new Set(found.flat().flatMap((problem) => problem ?? []))]
}

function findEviction(storage: QueueStorage | undefined): string | null {
  if (storage === undefined || !evicts(storage.policy)) return null
  return `its maxmemory-policy is ${storage.policy}; set noeviction, because a server that evicts loses settlements and work that waits`
}

/** Returns the reason for which the server with this answer to INFO cannot be used; null if it can. */
export function findProblem(info: string): string | null {
  const version = /^redis_version:((\d+)\S*)/m.exec(info)
  if (version !== null && Number(version[2]) < 7) return `it is Redis ${version[1]}; ${EXPECTED}`
  if (/^run_id:\w/m.test(info)) return null
  return `it does not report a run_id in INFO, by which lost settlements are noticed; ${EXPECTED}`
}
