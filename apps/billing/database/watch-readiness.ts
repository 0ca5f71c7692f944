import type { Pool, PoolClient } from 'pg'
import { ConfigError } from '#libs/config/load-config.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Readiness } from '#libs/telemetry/serve-ops.ts'
import { endIdle } from './open-pool.ts'
import { checkPooled, type PooledNeeds } from './pooler.ts'
import { describeMissing, listMissingRights } from './service-rights.ts'
import { readSession, whyReadOnly } from './session-settings.ts'
import { findHangingCommit, type watchWrites } from './watch-writes.ts'

/**
 * Checks every `everyMs` that
 * - the database answers, accepts changes, could write the last ones and confirms commits,
 * - the role of the pool's connections has all rights of the service, and
 * - behind a pooler, the connections still have the settings of `pooled`.
 *
 * A change of the readiness is logged. Until the first check the readiness is `ready`, because the database has just
 * answered.
 */
export function watchReadiness(options: {
  pool: Pool
  pooled: PooledNeeds | null
  writes: Pick<ReturnType<typeof watchWrites>, 'problem'>
  everyMs: number
  log: Logger
}): {
  readiness: Readiness
  stop: () => void
} {
  const { pool, pooled, writes, everyMs, log } = options
  let problem: string | null = null
  let asking = false

  async function ask() {
    if (asking) return
    asking = true
    const before = problem
    try {
      problem = (await findProblem(pool, pooled)) ?? writes.problem()
    } catch (error) {
      problem = error instanceof ConfigError ? error.message : 'the database does not answer'
    }
    asking = false
    if (problem === before) return
    if (problem === null) log.info('the database can be used again')
    else log.error({ reason: problem }, 'the database cannot be used')
  }

  const timer = setInterval(() => void ask(), everyMs)
  return {
    readiness: () => (problem === null ? { ready: true } : { ready: false, reason: problem }),
    stop: () => clearInterval(timer),
  }
}

/**
 * Checks one connection of the pool. Returns null if the session of this connection can serve, else the reason why it
 * cannot. If the session cannot write, or if the check throws, the function ends this connection and the pool's idle
 * connections. If only a right is missing, the connections stay open: they can use the right once it is granted again.
 */
async function findProblem(pool: Pool, pooled: PooledNeeds | null): Promise<string | null> {
  const client = await pool.connect()
  let isUseless = true
  try {
    const problem = whyReadOnly(await read(client, pooled))
    if (problem !== null) return problem
    const missing = await listMissingRights(client)
    const reason = describeMissing(missing) ?? (await findHangingCommit(client))
    isUseless = false
    return reason
  } finally {
    client.release(isUseless)
    if (isUseless) endIdle(pool)
  }
}

async function read(client: PoolClient, pooled: PooledNeeds | null) {
  return await (pooled === null ? readSession(client, false) : checkPooled(client, pooled))
}
