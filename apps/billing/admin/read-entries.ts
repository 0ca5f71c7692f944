import { sql, type Kysely } from 'kysely'
import type { LedgerEntry } from '#libs/admin-contract/resources/ledger.ts'
import type { LedgerKind, Tables } from '../database/tables.ts'
import { toCursor } from './list-page.ts'

/**
 * The most entries that one query reads. The number is small, so that each query ends soon. Between two queries a slow
 * reader occupies no connection to the database.
 */
const PORTION = 1_000

type Range = {
  /** Yield only entries that credit or debit this account. */
  readonly account?: string | undefined
  /** Entries with a higher number than this. */
  readonly after: bigint
  /** Entries up to this number, inclusive. */
  readonly until: bigint
  readonly limit?: number
}

/** Yields entries of the ledger in portions, in the order of their numbers. */
export async function* readEntries(db: Kysely<Tables>, range: Range): AsyncGenerator<LedgerEntry[]> {
  let { after, limit = Infinity } = range
  while (limit > 0) {
    const most = Math.min(PORTION, limit)
    const rows = await readPortion(db, { ...range, after, limit: most })
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows.map(toEntry)
    if (rows.length < most) return
    after = last.seq
    limit -= rows.length
  }
}

type EntryRow = {
  seq: bigint
  kind: LedgerKind
  ref: string
  debit_account: string
  credit_account: string
  amount: bigint
  posted_at: string
}

/** Reads one portion. An account's entries are read in order from two indexes, so that every portion costs the same. */
async function readPortion(
  db: Kysely<Tables>,
  { account, after, until, limit }: Range & { limit: number },
): Promise<EntryRow[]> {
  const select = (where: ReturnType<typeof sql>) => sql`(
    select * from ledger where ${where} and seq > ${after} and seq <= ${until} order by seq limit ${limit})`
  const entries =
    account === undefined
      ? select(sql`true`)
      : sql`(${select(sql`debit_account = ${account}`)} union all ${select(sql`credit_account = ${account}`)})`
  const { rows } = await sql<EntryRow>`
    select seq, kind, ref, debit_account, credit_account, amount,
      to_char(posted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as posted_at
    from ${entries} l order by seq limit ${limit}`.execute(db)
  return rows
}

/** Converts a row. The fields have the order of the columns. */
function toEntry(row: EntryRow): LedgerEntry {
  return {
    seq: row.seq.toString(),
    kind: row.kind,
    ref: row.ref,
    debitAccount: row.debit_account,
    creditAccount: row.credit_account,
    amountNano: row.amount.toString(),
    postedAt: row.posted_at,
    cursor: toCursor(row.seq.toString()),
  }
}
