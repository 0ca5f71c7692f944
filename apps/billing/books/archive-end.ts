import { sql, type Kysely } from 'kysely'
import type { Tables } from '../database/tables.ts'

/** The end of the archived months. */
export type ArchiveEnd = {
  /** The newest archived month, as YYYY-MM. */
  readonly month: string
  /** The first moment after this month. */
  readonly endedAt: Date
  /** The number of the month's last ledger entry. */
  readonly lastSeq: bigint
}

/** Returns null while no month is archived. */
export async function readArchiveEnd(db: Kysely<Tables>): Promise<ArchiveEnd | null> {
  const { rows } = await sql<ArchiveEnd>`
    select to_char(month, 'YYYY-MM') as month, month_start(month::timestamp at time zone 'UTC', 1) as "endedAt",
      last_seq as "lastSeq"
    from ledger_archives order by ledger_archives.month desc limit 1`.execute(db)
  return rows[0] ?? null
}
