import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { wallClockMs } from '#libs/clock/wall-clock.ts'
import type { Logger } from '#libs/telemetry/logger.ts'

export type DatabaseClock = {
  /** Unix ms by PostgreSQL's clock. */
  nowMs(): number
  stop(): Promise<void>
}

/** A reading that took longer than this is too imprecise. It is used only if it is the first reading. */
const SLOW_MS = 1_000

/** A warning is logged if this machine's clock and PostgreSQL's differ by more than this. */
const AGREES_WITHIN_MS = 5_000

/**
 * Returns a clock that shows PostgreSQL's time. It reads PostgreSQL's clock every `everyMs`. Between two readings, and
 * while PostgreSQL is unavailable, it adds to the last reading the time that has passed since then on the monotonic
 * clock. Billing uses this clock for every date that it writes and for every decision by a date: when a price begins,
 * when a key, ticket or session expires, when a month ends, when the ledger is sealed. So replicas agree even if their
 * machines' clocks differ.
 */
export async function createDatabaseClock(options: {
  pool: Pool
  everyMs: number
  log: Logger
}): Promise<DatabaseClock> {
  const { pool, everyMs, log } = options
  const stopping = new AbortController()
  let agrees = true

  async function read(): Promise<{ aheadMs: number; tookMs: number }> {
    const sentMs = performance.now()
    const timeMs = await readDatabaseTimeMs(pool)
    const answeredMs = performance.now()
    return { aheadMs: timeMs - (sentMs + answeredMs) / 2, tookMs: answeredMs - sentMs }
  }

  let { aheadMs } = await read()
  const nowMs = () => Math.round(performance.now() + aheadMs)
  compare()

  /**
   * Compares this machine's own clock with PostgreSQL's, and logs a warning if they differ. Nothing else uses this
   * machine's clock.
   */
  function compare() {
    const ownAheadMs = Math.round(wallClockMs() - nowMs())
    const agreed = agrees
    agrees = Math.abs(ownAheadMs) <= AGREES_WITHIN_MS
    if (agreed && !agrees) log.warn({ ownAheadMs }, "this machine's clock differs from PostgreSQL's")
  }

  async function run() {
    for (;;) {
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      if (stopping.signal.aborted) return
      try {
        const reading = await read()
        if (reading.tookMs <= SLOW_MS) aheadMs = reading.aheadMs
        compare()
      } catch (error) {
        log.warn({ err: error }, "PostgreSQL's clock was not read; its time is carried on")
      }
    }
  }

  const running = run()
  return {
    nowMs,
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** Returns Unix ms at the moment of the answer, not at the transaction's beginning. */
export async function readDatabaseTimeMs(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ now: Date }>('select clock_timestamp() as now')
  const now = rows[0]?.now
  if (now === undefined) throw new Error('PostgreSQL has no time')
  return now.getTime()
}
