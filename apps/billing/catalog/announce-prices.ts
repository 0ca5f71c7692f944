import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Tables } from '../database/tables.ts'
import { tellWatchers } from './publish-catalog.ts'

/**
 * Every `everyMs`, tells the catalog's watchers when a price that was published for later has begun. Reservations are
 * made at the price of their moment whatever watchers know; this is so that what is shown is true soon after. More
 * replicas than one may tell the same. Returns how to stop.
 */
export function announcePrices(options: {
  db: Kysely<Tables>
  everyMs: number
  nowMs: () => number
  log: Logger
}): () => Promise<void> {
  const { db, everyMs, nowMs, log } = options
  const stopping = new AbortController()
  // Whoever connects after this gets the catalog of that moment.
  let toldUntil = new Date(nowMs())

  async function tell() {
    const now = new Date(nowMs())
    const begun = await db
      .selectFrom('price_versions')
      .select('id')
      .where('effective_from', '>', toldUntil)
      .where('effective_from', '<=', now)
      .limit(1)
      .executeTakeFirst()
    if (begun !== undefined) await tellWatchers(db)
    toldUntil = now
  }

  async function run() {
    while (!stopping.signal.aborted) {
      await tell().catch((error: unknown) => {
        log.warn({ err: error }, 'prices that began could not be announced, trying again')
      })
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  const running = run()
  return async () => {
    stopping.abort()
    await running
  }
}
