import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import type { Logger } from '#libs/telemetry/logger.ts'
import { inTransaction } from '../database/open-pool.ts'
import type { BillingMetrics } from '../metrics.ts'

/**
 * The time limit of one count of the open holds. The count reads each open hold once, through an index that has only
 * open holds. For 50,000 holds, scattered over a million rows, it took 0.3 s.
 */
const LIMIT_MS = 2_000

/**
 * Every `everyMs`, sets two metrics: the number of open holds of all replicas, and the age of the oldest open hold.
 * Both metrics are absent while the database does not answer. Returns a function that stops the counting and waits for
 * the current count.
 */
export function watchHolds(options: {
  pool: Pool
  everyMs: number
  nowMs: () => number
  metrics: Pick<BillingMetrics, 'openHolds' | 'oldestHold'>
  log: Logger
}): () => Promise<void> {
  const { pool, everyMs, nowMs, metrics, log } = options
  const stopping = new AbortController()

  async function count() {
    try {
      const { holds, oldest } = await inTransaction(pool, readOpenHolds)
      metrics.openHolds.set(holds)
      metrics.oldestHold.set(oldest === null ? 0 : Math.max(0, nowMs() - oldest.getTime()) / 1_000)
    } catch (error) {
      metrics.openHolds.remove()
      metrics.oldestHold.remove()
      log.warn({ err: error }, 'open holds could not be counted')
    }
  }

  async function run() {
    while (!stopping.signal.aborted) {
      await count()
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  const running = run()
  return async () => {
    stopping.abort()
    await running
  }
}

type OpenHolds = { readonly holds: number; readonly oldest: Date | null }

async function readOpenHolds(client: PoolClient): Promise<OpenHolds> {
  await client.query("select set_config('statement_timeout', $1, true)", [`${LIMIT_MS}ms`])
  const { rows } = await client.query<OpenHolds>(
    "select count(*)::int as holds, min(created_at) as oldest from reservations where state = 'held'",
  )
  return rows[0] ?? { holds: 0, oldest: null }
}
