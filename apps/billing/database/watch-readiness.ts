import type { Pool, PoolClient } from 'pg'
import { ConfigError } from '#libs/config/load-config.ts'
import type { Readiness } from '#libs/telemetry/serve-ops.ts'
import { endIdle } from './open-pool.ts'
import { checkPooled, type PooledNeeds } from './pooler.ts'
import { readSession, whyReadOnly } from './session-settings.ts'

/**
 * Checks every `everyMs` whether the database answers and accepts changes; behind a pooler also whether its connections
 * still have the settings of `pooled`. Until the first check the readiness is `ready`, because the database has just
 * answered.
 */
export function watchReadiness(options: { pool: Pool; pooled: PooledNeeds | null; everyMs: number }): {
  readiness: Readiness
  stop: () => void
} {
  const { pool, pooled, everyMs } = options
  let problem: string | null = null
  let asking = false

  async function ask() {
    if (asking) return
    asking = true
    try {
      problem = await findProblem(pool, pooled)
    } catch (error) {
      problem = error instanceof ConfigError ? error.message : 'the database does not answer'
    }
    asking = false
  }

  const timer = setInterval(() => void ask(), everyMs)
  return {
    readiness: () => (problem === null ? { ready: true } : { ready: false, reason: problem }),
    stop: () => clearInterval(timer),
  }
}

/**
 * Takes one connection of the pool. Returns null if its session can write, else the reason why it cannot. If it cannot,
 * or if the check throws, ends this connection and the pool's idle connections.
 */
async function findProblem(pool: Pool, pooled: PooledNeeds | null): Promise<string | null> {
  const client = await pool.connect()
  let isUseless = true
  try {
    const problem = whyReadOnly(await read(client, pooled))
    isUseless = problem !== null
    return problem
  } finally {
    client.release(isUseless)
    if (isUseless) endIdle(pool)
  }
}

async function read(client: PoolClient, pooled: PooledNeeds | null) {
  return await (pooled === null ? readSession(client, false) : checkPooled(client, pooled))
}
