import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import type { Logger } from '#libs/telemetry/logger.ts'
import { inTransaction } from '../database/open-pool.ts'
import type { BillingMetrics } from '../metrics.ts'
import {
  allowLongStatements,
  countContradictions,
  toLongQuery,
  type ReconciliationCount,
} from './reconcile.ts'
import { rollHours } from './roll-hours.ts'

/** The number of the advisory lock: any number that nothing else in this database uses. */
const LOCK = 7_351_002

const KEEP_RUNS = '90 days'

type Run = { readonly at: Date; readonly counts: readonly ReconciliationCount[] }

/**
 * Makes the partitions of the coming months, drops old timings, sums up closed hours of usage, reconciles the books
 * every `everyMs` and seals the ledger once a day. Every replica checks every `checkMs` whether any of these tasks is
 * due. One replica does the task, and all replicas show the newest result in their metrics. A failed task is logged and
 * repeated. Returns a function that stops the checks and waits for the current check.
 *
 * All times are from PostgreSQL's clock. If that clock was ahead for a while, some reconciliations
 * (`reconciliation_runs`) have dates in the future. They do not count as done, so the books are reconciled again. Until
 * those dates have come, each reconciliation reports the contradiction `dated-in-the-future`.
 */
export function checkBooks(options: {
  pool: Pool
  everyMs: number
  checkMs: number
  /**
   * Returns PostgreSQL's time in Unix ms. Each check reads this time again, because this process may have been
   * suspended since the previous check.
   */
  readNowMs: () => Promise<number>
  metrics: Pick<BillingMetrics, 'reconciliationRows' | 'reconciledAt'>
  log: Logger
}): () => Promise<void> {
  const { pool, everyMs, checkMs, readNowMs, metrics, log } = options
  const stopping = new AbortController()

  async function check() {
    const now = new Date(await readNowMs())
    await prepareMonths(now)
    await forgetTimings(now)
    await roll()
    await reconcileIfDue(now)
    await sealIfDue(pool, now)
    const newest = await readNewestRun(pool, now)
    if (newest === null) return
    for (const { question, rows } of newest.counts) metrics.reconciliationRows.set({ question }, rows)
    metrics.reconciledAt.set(newest.at.getTime() / 1_000)
  }

  /**
   * Makes the partitions of the coming months. A failure does not delay the seal: until the next try, rows go to the
   * partitions that exist.
   */
  async function prepareMonths(now: Date) {
    try {
      const { rows } = await pool.query<{ made: string[] }>('select prepare_months(at => $1) as made', [now])
      const made = rows[0]?.made ?? []
      if (made.length > 0) log.info({ made }, 'months prepared')
    } catch (error) {
      log.warn({ err: error }, 'the coming months have no partitions yet, trying again')
    }
  }

  async function forgetTimings(now: Date) {
    try {
      const { rows } = await pool.query<{ dropped: string[] }>('select forget_timings(at => $1) as dropped', [
        now,
      ])
      const dropped = rows[0]?.dropped ?? []
      if (dropped.length > 0) log.info({ dropped }, 'old timings dropped')
    } catch (error) {
      log.warn({ err: error }, 'old timings could not be dropped, trying again')
    }
  }

  /**
   * Sums up the closed hours of usage. A failure does no harm: until the next try, the usage of these hours is read row
   * by row.
   */
  async function roll() {
    try {
      await rollHours(pool, stopping.signal)
    } catch (error) {
      log.warn({ err: error }, 'the usage of closed hours is not summed up yet, trying again')
    }
  }

  async function reconcileIfDue(now: Date) {
    const counts = await runIfDue(pool, now, everyMs)
    const wrong = counts?.filter(({ rows }) => rows > 0) ?? []
    if (wrong.length > 0) log.error({ wrong }, 'the reconciliation found contradictions')
  }

  async function run() {
    while (!stopping.signal.aborted) {
      await check().catch((error: unknown) => {
        log.error({ err: error }, 'the books could not be checked, trying again')
      })
      await sleep(checkMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  const running = run()
  return async () => {
    stopping.abort()
    await running
  }
}

/** Reconciles if a reconciliation is due. Returns null if none is due, or if another replica is reconciling. */
async function runIfDue(pool: Pool, now: Date, everyMs: number): Promise<ReconciliationCount[] | null> {
  return await inTransaction(pool, async (client) => {
    await allowLongStatements(client)
    const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [
      LOCK,
    ])
    if (rows[0]?.mine !== true) return null
    const { rows: recent } = await client.query(
      'select from reconciliation_runs where at > $1 and at <= $2 limit 1',
      [new Date(now.getTime() - everyMs), now],
    )
    if (recent.length > 0) return null
    const counts = [...(await countContradictions(client, false)), await countFuture(client, now)]
    await client.query('insert into reconciliation_runs (at, counts) values ($1, $2)', [
      now,
      JSON.stringify(counts),
    ])
    await client.query('delete from reconciliation_runs where at < $1::timestamptz - $2::interval', [
      now,
      KEEP_RUNS,
    ])
    return counts
  })
}

/**
 * Counts the reconciliations and the seals with dates in the future. Adds 1 to this count if the highest number of a
 * ledger entry belongs to a future month: the number of an entry contains the entry's month (`first_seq`).
 *
 * Each seal continues the chain of the seal before, so the dates of seals never go back. If a seal is dated in the
 * future, the next seal is made only after that date.
 */
async function countFuture(client: PoolClient, now: Date): Promise<ReconciliationCount> {
  const { rows } = await client.query<{ count: number }>(
    `select (select count(*) from reconciliation_runs where at > $1::timestamptz + interval '1 minute')::int
       + (select count(*) from ledger_seals where day > ($1::timestamptz at time zone 'UTC')::date)::int
       + (select count(*) from (select max(seq) as seq from ledger) l
          where l.seq >= first_seq(month_start($1::timestamptz, 1)))::int as count`,
    [now],
  )
  return { question: 'dated-in-the-future', rows: rows[0]?.count ?? 0 }
}

async function sealIfDue(pool: Pool, now: Date): Promise<void> {
  const { rows } = await pool.query(
    "select from ledger_seals where day >= ($1::timestamptz at time zone 'UTC')::date",
    [now],
  )
  if (rows.length > 0) return
  await inTransaction(pool, async (client) => {
    await allowLongStatements(client)
    await client.query(toLongQuery('select from seal_ledger(at => $1)', [now]))
  })
}

async function readNewestRun(pool: Pool, now: Date): Promise<Run | null> {
  const { rows } = await pool.query<Run>(
    'select at, counts from reconciliation_runs where at <= $1 order by seq desc limit 1',
    [now],
  )
  return rows[0] ?? null
}
