import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Tables } from '../database/tables.ts'
import { notifyWatchers } from './publish-catalog.ts'

/**
 * Every `everyMs`, notifies the catalog's watchers if a price that was published for later has begun. Reservations need
 * no notification, because each reservation uses the price that is valid at its time. The notification is for gateways,
 * which show prices. Several replicas may notify of the same price. Returns a function that stops the checks.
 */
export function announcePrices(options: {
  db: Kysely<Tables>
  everyMs: number
  nowMs: () => number
  log: Logger
}): () => Promise<void> {
  const { db, everyMs, nowMs, log } = options
  const stopping = new AbortController()
  // Watchers that connect later get the catalog as it is when they connect.
  let notifiedUntil = new Date(nowMs())

  async function notifyOfBegun() {
    const now = new Date(nowMs())
    const begun = await db
      .selectFrom('price_versions')
      .select('id')
      .where('effective_from', '>', notifiedUntil)
      .where('effective_from', '<=', now)
      .limit(1)
      .executeTakeFirst()
    if (begun !== undefined) await notifyWatchers(db)
    notifiedUntil = now
  }

  async function run() {
    while (!stopping.signal.aborted) {
      await notifyOfBegun().catch((error: unknown) => {
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
