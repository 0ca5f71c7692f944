import { sql } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { implementRead } from '../implement.ts'
import { toReconciliationRun } from './reconciliation.ts'

const DAY_MS = 24 * 60 * 60 * 1000

type Sums = { overdue: bigint; writeOffs: bigint; writtenOff: string }

const readState = implementRead(ADMIN.readState, async (_asked, { db, now, live }) => {
  const since = new Date(now.getTime() - DAY_MS)
  const newest = await db
    .selectFrom('reconciliation_runs')
    .selectAll()
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  const alarms = await db
    .selectFrom('settlement_alarms')
    .select(({ fn }) => ['kind', fn.countAll<bigint>().as('settlements')])
    .where('seen_at', '>', since)
    .groupBy('kind')
    .orderBy('kind')
    .execute()
  // This query and the question `hold-overdue` of the reconciliation use the same rule for an overdue hold.
  const { rows } = await sql<Sums>`
    select
      (select count(*) from settlement_watermarks w join reservations r
        on r.model = w.model and r.state = 'held' and r.expires_at < w.watermark - interval '5 minutes 30 seconds'
      ) as overdue, l.count as "writeOffs", l.sum::text as "writtenOff"
    from (
      select count(*), coalesce(sum(amount), 0) as sum from ledger where kind = 'write-off' and posted_at > ${since}
    ) l`.execute(db)
  const [sums] = rows
  if (sums === undefined) throw new Error('the state has no sums')
  const { replica, watermarkAges, moneyCallsWaiting, deadLetters } = live()
  return {
    at: now.toISOString(),
    replica,
    watermarks: [...watermarkAges].map(([model, ageMs]) => ({ model, ageMs: Math.round(ageMs) })),
    moneyCallsWaiting,
    reconciliation: newest === undefined ? null : toReconciliationRun(newest),
    overdueHolds: Number(sums.overdue),
    alarms: alarms.map(({ kind, settlements }) => ({ kind, settlements: Number(settlements) })),
    deadLetters: [...deadLetters]
      .filter(([, settlements]) => settlements > 0)
      .map(([model, settlements]) => ({ model, settlements })),
    writeOffs: { requests: Number(sums.writeOffs), writtenOffNano: sums.writtenOff },
  }
})

export const STATE_OPERATIONS = { readState }
