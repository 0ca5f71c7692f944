import type { Pool } from 'pg'
import type { Readiness } from '#libs/telemetry/serve-ops.ts'

/** Checks every `everyMs` whether the database answers. Ready at the start, because it has just been migrated. */
export function watchReadiness(pool: Pool, everyMs: number): { readiness: Readiness; stop: () => void } {
  let reachable = true
  let asking = false

  async function ask() {
    if (asking) return
    asking = true
    try {
      await pool.query('select 1')
      reachable = true
    } catch {
      reachable = false
    }
    asking = false
  }

  const timer = setInterval(() => void ask(), everyMs)
  return {
    readiness: () => (reachable ? { ready: true } : { ready: false, reason: 'the database does not answer' }),
    stop: () => clearInterval(timer),
  }
}
