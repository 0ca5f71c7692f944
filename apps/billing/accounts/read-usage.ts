import { sql, type Kysely } from 'kysely'
import type { KeyUsage } from '#proto/types/millrace/billing/KeyUsage.ts'
import { readSpan, selectUsage } from '../admin/resources/usage.ts'
import type { Tables } from '../database/tables.ts'
import type { Scope } from './scope.ts'

const HOUR_MS = 60 * 60 * 1000

const NOTHING: KeyUsage = { totalNano: '0', dayNano: '0', weekNano: '0', monthNano: '0' }

type UsageRow = { id: string; total: string; day: string; week: string; month: string }

/** What keys or an account were charged since `since`, which is not after the first request of any of them. */
export async function readUsage(
  db: Kysely<Tables>,
  { column, ids, since }: { column: Scope['column']; ids: readonly string[]; since: Date },
  now: Date,
): Promise<(id: string) => KeyUsage> {
  const start = new Date(Math.floor(since.getTime() / HOUR_MS) * HOUR_MS)
  const span = await readSpan(db, { start, end: new Date(now.getTime() + 60_000) })
  const from = (period: string) =>
    sql`coalesce(sum(charged) filter (where time >= date_trunc(${period}, ${now}::timestamptz, 'UTC')), 0)::text`
  const { rows } = await sql<UsageRow>`
    select ${sql.ref(column)}::text as id, sum(charged)::text as total, ${from('day')} as day, ${from('week')} as week,
      ${from('month')} as month
    from (${selectUsage(span, [sql`${sql.ref(column)} in (${sql.join(ids)})`])}) u
    group by 1`.execute(db)
  const usages = new Map(
    rows.map(({ id, total, day, week, month }) => [
      id,
      { totalNano: total, dayNano: day, weekNano: week, monthNano: month },
    ]),
  )
  return (id) => usages.get(id) ?? NOTHING
}
