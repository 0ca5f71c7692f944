import { sql, type Kysely } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { LEDGER_COLUMNS, type LedgerEntry } from '#libs/admin-contract/resources/ledger.ts'
import type { LedgerKind, Tables } from '../../database/tables.ts'
import { implementExport, implementRead } from '../implement.ts'
import { toCursor, toPage, toSeq } from '../page.ts'
import { readAccount } from './accounts.ts'

/** The entries of one query: no query takes long, and a slow reader does not block other work. */
const PORTION = 1_000

/** Content types, and the text of one entry in each. No value contains a comma, so CSV needs no quotes. */
const FORMATS = {
  jsonl: {
    contentType: 'application/jsonl',
    header: '',
    line: (entry: LedgerEntry) => `${JSON.stringify(entry)}\n`,
  },
  csv: {
    contentType: 'text/csv',
    header: `${LEDGER_COLUMNS.join()}\r\n`,
    line: (entry: LedgerEntry) => `${Object.values(entry).join()}\r\n`,
  },
} as const

const exportLedger = implementExport(
  ADMIN.exportLedger,
  async ({ query: { account, format = 'jsonl', limit, cursor } }, { db }) => {
    if (account !== undefined) await readAccount(db, account)
    const { contentType, header, line } = FORMATS[format]
    const horizon = await readHorizon(db)
    const portions = readPortions(db, {
      account,
      after: cursor === undefined ? 0n : toSeq(cursor),
      horizon,
      limit,
    })
    async function* parts() {
      if (header !== '') yield header
      for await (const entries of portions) yield entries.map(line).join('')
    }
    return { contentType, parts: parts() }
  },
)

const listWriteOffs = implementRead(
  ADMIN.listWriteOffs,
  async ({ query: { account, limit, cursor } }, { db }) => {
    let writeOffs = db
      .selectFrom('ledger as l')
      .innerJoin('usage as u', 'u.reservation_id', 'l.ref')
      .selectAll('u')
      .select('l.seq')
      .where('l.kind', '=', 'write-off')
      .orderBy('l.seq', 'desc')
      .limit(limit + 1)
    if (account !== undefined) {
      writeOffs = writeOffs.where('u.account_id', '=', (await readAccount(db, account)).id)
    }
    if (cursor !== undefined) writeOffs = writeOffs.where('l.seq', '<', toSeq(cursor))
    return toPage(await writeOffs.execute(), limit, {
      item: (row) => ({
        requestId: row.reservation_id,
        accountId: row.account_id,
        keyId: row.key_id,
        model: row.model,
        costNano: row.cost,
        chargedNano: row.charged.toString(),
        writtenOffNano: (BigInt(row.cost) - row.charged).toString(),
        late: row.late,
        settledAt: row.settled_at.toISOString(),
      }),
      cursor: ({ seq }) => seq.toString(),
    })
  },
)

export const LEDGER_OPERATIONS = { exportLedger, listWriteOffs }

/** The number up to which all entries are committed. */
async function readHorizon(db: Kysely<Tables>): Promise<bigint> {
  const { rows } = await sql<{ seq: bigint }>`select ledger_horizon() as seq`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('the ledger has no horizon')
  return row.seq
}

type Range = {
  readonly account: string | undefined
  readonly after: bigint
  readonly horizon: bigint
  readonly limit: number
}

async function* readPortions(db: Kysely<Tables>, range: Range): AsyncGenerator<LedgerEntry[]> {
  let { after, limit } = range
  while (limit > 0) {
    const most = Math.min(PORTION, limit)
    const rows = await readEntries(db, { ...range, after, limit: most })
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

/** An account's entries are read in order from its two indexes, so that every portion costs the same. */
async function readEntries(
  db: Kysely<Tables>,
  { account, after, horizon, limit }: Range,
): Promise<EntryRow[]> {
  const select = (where: ReturnType<typeof sql>) => sql`(
    select * from ledger where ${where} and seq > ${after} and seq <= ${horizon} order by seq limit ${limit})`
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

/** In the order of the columns. */
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
