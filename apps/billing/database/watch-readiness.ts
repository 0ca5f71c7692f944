import type { Pool } from 'pg'
import { ConfigError } from '#libs/config/load-config.ts'
import type { Readiness } from '#libs/telemetry/serve-ops.ts'
import { checkPooled, type PooledNeeds } from './pooler.ts'

/**
 * Checks every `everyMs` whether the database answers; behind a pooler also whether its connections still have the
 * settings of `pooled`. The result is ready at the start, because the database has just answered.
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
      await (pooled === null ? pool.query('select 1') : checkPooled(pool, pooled))
      problem = null
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
