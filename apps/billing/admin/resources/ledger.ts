import { sql, type Kysely } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { LEDGER_COLUMNS, type LedgerEntry } from '#libs/admin-contract/resources/ledger.ts'
import type { Tables } from '../../database/tables.ts'
import { AdminError } from '../../resources/admin-error.ts'
import { readArchiveEnd } from '../../books/archive-end.ts'
import { implementExport, implementRead } from '../implement.ts'
import { toCursor, toPage, toSeq } from '../list-page.ts'
import { readEntries } from '../read-entries.ts'
import { readAccount } from '../../resources/read-account.ts'

/** The content types, each with the text of one entry. No value contains a comma, so CSV needs no quotes. */
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
    const after = cursor === undefined ? 0n : toSeq(cursor)
    await assertKept(db, after)
    const portions = readEntries(db, { account, after, until: await readHorizon(db), limit })
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

/**
 * Throws an AdminError for a range with archived entries. If they were left out silently, an account's entries would
 * not add up to its balance.
 */
async function assertKept(db: Kysely<Tables>, after: bigint): Promise<void> {
  const archived = await readArchiveEnd(db)
  if (archived === null || after >= archived.lastSeq) return
  throw new AdminError(
    'archived',
    `The entries up to number ${archived.lastSeq} are in the files of ${archived.month} and before. For those after them: cursor ${toCursor(archived.lastSeq.toString())}.`,
    'cursor',
  )
}

/** Returns the number up to which all entries are committed. */
async function readHorizon(db: Kysely<Tables>): Promise<bigint> {
  const { rows } = await sql<{ seq: bigint }>`select ledger_horizon() as seq`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('the ledger has no horizon')
  return row.seq
}
