import { createHash } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import type { LedgerMonth } from '#libs/admin-contract/resources/archives.ts'
import type { Tables } from '../database/tables.ts'

/** The chain of the seals begins with the hash of the empty text. */
const START = createHash('sha256').digest()

type ArchiveRow = {
  month: string
  first_seq: bigint
  last_seq: bigint
  chain_before: Buffer
  chain_after: Buffer
  ledger_lines: bigint
  ledger_sha256: Buffer
  usage_lines: bigint
  usage_sha256: Buffer
  reservation_lines: bigint
  reservations_sha256: Buffer
  archived_at: Date
}

type OpenRow = { month: string; problem: string | null; last_seq: bigint | null; chain: Buffer | null }

/** Returns the ended months, the oldest first: the archived months, then the months in the database. */
export async function readMonths(
  db: Kysely<Tables>,
  { keepMonths, now }: { keepMonths: number; now: Date },
): Promise<LedgerMonth[]> {
  const archived = await sql<ArchiveRow>`
    select to_char(a.month, 'YYYY-MM') as month, a.first_seq, a.last_seq, a.chain_before, a.chain_after,
      a.ledger_lines, a.ledger_sha256, a.usage_lines, a.usage_sha256, a.reservation_lines, a.reservations_sha256,
      a.archived_at
    from ledger_archives a order by a.month`.execute(db)
  const open = await sql<OpenRow>`
    select to_char(m.month, 'YYYY-MM') as month, m.problem, m.last_seq, m.chain
    from ledger_months(keep => ${keepMonths}, at => ${now}) m`.execute(db)
  const months = archived.rows.map(toArchived)
  const newest = archived.rows.at(-1)
  let [reached, chain]: [bigint, Buffer | null] = [newest?.last_seq ?? 0n, newest?.chain_after ?? START]
  for (const row of open.rows) {
    const lastSeq = row.last_seq ?? reached
    const chainAfter: Buffer | null = lastSeq === reached ? chain : row.chain
    months.push({
      month: row.month,
      state: row.problem === null ? 'ready' : 'kept',
      problem: row.problem,
      firstSeq: (reached + 1n).toString(),
      lastSeq: lastSeq.toString(),
      chainBefore: chain?.toString('hex') ?? null,
      chainAfter: chainAfter?.toString('hex') ?? null,
      files: null,
      archivedAt: null,
    })
    reached = lastSeq
    chain = chainAfter
  }
  return months
}

function toArchived(row: ArchiveRow): LedgerMonth {
  return {
    month: row.month,
    state: 'archived',
    problem: null,
    firstSeq: row.first_seq.toString(),
    lastSeq: row.last_seq.toString(),
    chainBefore: row.chain_before.toString('hex'),
    chainAfter: row.chain_after.toString('hex'),
    files: {
      ledger: { lines: Number(row.ledger_lines), sha256: row.ledger_sha256.toString('hex') },
      usage: { lines: Number(row.usage_lines), sha256: row.usage_sha256.toString('hex') },
      reservations: { lines: Number(row.reservation_lines), sha256: row.reservations_sha256.toString('hex') },
    },
    archivedAt: row.archived_at.toISOString(),
  }
}
