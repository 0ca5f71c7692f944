import { sql, type Kysely, type RawBuilder, type SqlBool } from 'kysely'
import type { Tables } from '../database/tables.ts'
import { readOldestId } from './kept-usage.ts'

type Span = {
  readonly start: Date
  readonly end: Date
  /** Usage from this time on is not summed up by hour. */
  readonly rolledUntil: Date
  /** A lower bound for the ids of all requests that were settled at `rolledUntil` or later. */
  readonly oldestId: string
}

export async function readSpan(
  db: Kysely<Tables>,
  { start, end }: Pick<Span, 'start' | 'end'>,
): Promise<Span> {
  const { rows } = await sql<{ until: Date }>`
    select greatest(until, ${start}) as until from usage_hours_end`.execute(db)
  const rolledUntil = rows[0]?.until ?? start
  return { start, end, rolledUntil, oldestId: await readOldestId(db, rolledUntil) }
}

/**
 * Selects two kinds of rows: the sums of the hours that are summed up already (`usage_hours`), and the requests that
 * were settled after these hours. `0013-usage-hours.sql` says why the two kinds together are complete.
 */
export function selectUsage({ start, end, rolledUntil, oldestId }: Span, conditions: RawBuilder<SqlBool>[]) {
  const sums = sql`hour >= ${start} and hour < least(${end}::timestamptz, ${rolledUntil}::timestamptz)`
  // Only the partitions from the oldest id on can contain these rows.
  const rest = sql`settled_at >= ${rolledUntil} and settled_at < ${end} and reservation_id >= ${oldestId}`
  return sql`
    select hour as time, account_id, key_id, model, requests, prompt_tokens, cached_tokens, completion_tokens, cost,
      charged
    from usage_hours where ${sql.join([sums, ...conditions], sql` and `)}
    union all
    select settled_at, account_id, key_id, model, 1, prompt_tokens, cached_tokens, completion_tokens, cost, charged
    from usage where ${sql.join([rest, ...conditions], sql` and `)}`
}
