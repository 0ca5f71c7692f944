import { sql, type Kysely } from 'kysely'
import type { AccountKey } from '#libs/account-contract/resources/keys.ts'
import type { Tables } from '../database/tables.ts'
import { readSpan, selectUsage } from './select-usage.ts'

const HOUR_MS = 60 * 60 * 1000

/**
 * The charges in nano-credits: in total, and since the beginning of the day, the week and the month in UTC. Weeks begin
 * on Monday.
 */
export type Usage = Pick<AccountKey['nano'], 'usage' | 'usage_daily' | 'usage_weekly' | 'usage_monthly'>

const NOTHING: Usage = { usage: '0', usage_daily: '0', usage_weekly: '0', usage_monthly: '0' }

type UsageRow = { id: string; total: string; day: string; week: string; month: string }

/**
 * Reads the charges since `since` of the keys or accounts `ids`. The returned function returns the charges of one of
 * these keys or accounts. `since` must not be later than the first request of any of these keys or accounts.
 */
export async function readUsage(
  db: Kysely<Tables>,
  { column, ids, since }: { column: 'account_id' | 'key_id'; ids: readonly string[]; since: Date },
  now: Date,
): Promise<(id: string) => Usage> {
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
      { usage: total, usage_daily: day, usage_weekly: week, usage_monthly: month },
    ]),
  )
  return (id) => usages.get(id) ?? NOTHING
}
