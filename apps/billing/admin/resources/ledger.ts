import { sql, type Kysely } from 'kysely'
import { z } from 'zod'
import type { LedgerKind, Tables } from '../../database/tables.ts'
import { Id, Nano, Time, countIn } from '../fields.ts'
import { NOTHING, defineExport, defineRead } from '../operation.ts'
import { Limit, SeqCursor, pageOf, toCursor, toPage } from '../page.ts'
import { readAccount } from './accounts.ts'

const MAX_ENTRIES = 1_000_000

/** Read and written at a time: no query is long, and a slow reader makes nothing wait. */
const PORTION = 1_000

/** Those of the service itself, such as revenue, have ids that no generator makes. */
const LedgerAccount = z.guid()

const Entry = z
  .object({
    seq: z.string(),
    kind: z.enum(['topup', 'adjustment', 'charge', 'write-off']),
    ref: Id.meta({ description: 'Of the top-up, of the adjustment, or of the request.' }),
    debitAccount: LedgerAccount,
    creditAccount: LedgerAccount,
    amountNano: Nano,
    postedAt: Time.meta({ description: 'To the microsecond, as it is sealed.' }),
    cursor: z.string().meta({ description: 'To go on after this entry.' }),
  })
  .meta({ id: 'LedgerEntry' })
type Entry = z.input<typeof Entry>

const CSV_COLUMNS = Object.keys(Entry.shape)
const CsvLine = z.string().meta({ description: `The first line names the columns: ${CSV_COLUMNS.join()}.` })

/** Content types and how a portion is written in each. No value needs quotes in CSV: they have no commas. */
const FORMATS = {
  jsonl: {
    contentType: 'application/jsonl',
    header: '',
    line: (entry: Entry) => `${JSON.stringify(entry)}\n`,
  },
  csv: {
    contentType: 'text/csv',
    header: `${CSV_COLUMNS.join()}\r\n`,
    line: (entry: Entry) => `${Object.values(entry).join()}\r\n`,
  },
} as const

const exportLedger = defineExport({
  id: 'exportLedger',
  method: 'GET',
  url: '/ledger',
  summary: 'Exports ledger entries, the oldest first, as JSON Lines or CSV.',
  description:
    'Asked again with the cursor of the last line, it goes on from there and misses nothing, however long ago that was. An answer that was cut off ends its connection with an error.',
  path: NOTHING,
  query: z.strictObject({
    account: Id.optional().meta({ description: 'Only what credits or debits it.' }),
    format: z.enum(['jsonl', 'csv']).optional(),
    limit: countIn({ min: 1, max: MAX_ENTRIES })
      .default(MAX_ENTRIES)
      .meta({ description: `At most so many entries; ${MAX_ENTRIES} unless told.` }),
    cursor: SeqCursor.optional(),
  }),
  body: NOTHING,
  lines: { 'application/jsonl': Entry, 'text/csv': CsvLine },
  errors: ['not_found'],
  async run({ query: { account, format = 'jsonl', limit, cursor = 0n } }, { db }) {
    if (account !== undefined) await readAccount(db, account)
    const { contentType, header, line } = FORMATS[format]
    const horizon = await readHorizon(db)
    const portions = readPortions(db, { account, after: cursor, horizon, limit })
    async function* parts() {
      if (header !== '') yield header
      for await (const entries of portions) yield entries.map(line).join('')
    }
    return { contentType, parts: parts() }
  },
})

const WriteOff = z
  .object({
    requestId: Id,
    accountId: Id,
    keyId: Id,
    model: z.string(),
    costNano: Nano,
    chargedNano: Nano,
    writtenOffNano: Nano,
    late: z.boolean(),
    settledAt: Time,
  })
  .meta({ id: 'WriteOff' })

const listWriteOffs = defineRead({
  id: 'listWriteOffs',
  method: 'GET',
  url: '/write-offs',
  summary: 'Lists costs that no charge could cover, the newest first.',
  path: NOTHING,
  query: z.strictObject({ account: Id.optional(), limit: Limit, cursor: SeqCursor.optional() }),
  body: NOTHING,
  answer: pageOf('WriteOffPage', WriteOff),
  errors: ['not_found'],
  async run({ query: { account, limit, cursor } }, { db }) {
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
    if (cursor !== undefined) writeOffs = writeOffs.where('l.seq', '<', cursor)
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
})

export const LEDGER_OPERATIONS = [exportLedger, listWriteOffs] as const

/** Up to which number nothing is missing any more. */
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

async function* readPortions(db: Kysely<Tables>, range: Range): AsyncGenerator<Entry[]> {
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

/** An account's entries are found by its two indexes, each read in order: no portion costs more than another. */
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
function toEntry(row: EntryRow): Entry {
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
