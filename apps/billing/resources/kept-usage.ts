import { sql, type Kysely } from 'kysely'
import type { Tables } from '../database/tables.ts'
import { AdminError } from './admin-error.ts'
import { readArchiveEnd } from '../books/archive-end.ts'

/**
 * Throws an AdminError if a part of the usage from `start` on is archived, because without this part sums would be too
 * low and lists incomplete.
 */
export async function assertKept(db: Kysely<Tables>, start: Date): Promise<void> {
  const archived = await readArchiveEnd(db)
  if (archived === null || start >= archived.endedAt) return
  const kept = archived.endedAt.toISOString().slice(0, 10)
  throw new AdminError(
    'archived',
    `Usage is here from ${kept} on; before that it is in the files of ${archived.month} and before.`,
    'from',
  )
}

/**
 * Returns a lower bound for the ids of all requests that were settled at `start` or later. An id begins with the time
 * when its request was made. Most requests are settled within 7 days of that time. The others were made in the months
 * that the table `late_usage` lists: a month is listed if a request of this month was settled more than 7 days after it
 * was made.
 */
export async function readOldestId(db: Kysely<Tables>, start: Date): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    select first_id(least(
      ${start}::timestamptz - interval '7 days',
      (select min(month)::timestamp at time zone 'UTC' from late_usage where until >= ${start})
    )) as id`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('there is no oldest id')
  return row.id
}
