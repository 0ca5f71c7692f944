import { z } from 'zod'
import { AccountId, Id, Nano, Time, countIn } from '../fields.ts'
import { defineExport, defineRead } from '../operation.ts'
import { PAGE, pageOf } from '../list-page.ts'
import { ALL } from '../roles.ts'

const MAX_ENTRIES = 1_000_000

/** A ledger account's id. The service's own accounts, such as revenue, have ids that are not UUIDs of any version. */
const LedgerAccount = z.guid()

/** A line of the ledger's export, and of a month's ledger file. */
export const LedgerEntry = z
  .object({
    seq: z.string(),
    kind: z.enum(['topup', 'adjustment', 'charge', 'write-off']),
    ref: Id.meta({ description: 'Of the top-up, of the adjustment, or of the request.' }),
    debitAccount: LedgerAccount,
    creditAccount: LedgerAccount,
    amountNano: Nano,
    postedAt: Time.meta({ description: 'To the microsecond, as it is sealed.' }),
    cursor: z.string().meta({ description: 'To continue after this entry.' }),
  })
  .meta({ id: 'LedgerEntry' })
export type LedgerEntry = z.infer<typeof LedgerEntry>

/** The columns of the CSV format. */
export const LEDGER_COLUMNS = Object.keys(LedgerEntry.shape)

const CsvLine = z
  .string()
  .meta({ description: `The first line names the columns: ${LEDGER_COLUMNS.join()}.` })

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

export const LEDGER = {
  exportLedger: defineExport({
    path: '/ledger',
    summary: 'Exports ledger entries, the oldest first, as JSON Lines or CSV.',
    description:
      'A request with the cursor of the last line continues from there and misses no entry, however long ago that line was read. An answer that is cut off ends its connection with an error.',
    roles: ALL,
    query: z.strictObject({
      account: Id.optional().meta({ description: 'Only entries that credit or debit it.' }),
      format: z.enum(['jsonl', 'csv']).optional(),
      limit: countIn({ min: 1, max: MAX_ENTRIES })
        .default(MAX_ENTRIES)
        .meta({ description: `The most entries to return; ${MAX_ENTRIES} unless given.` }),
      cursor: PAGE.cursor,
    }),
    lines: { 'application/jsonl': LedgerEntry, 'text/csv': CsvLine },
    errors: ['not_found', 'archived'],
  }),

  listWriteOffs: defineRead({
    path: '/write-offs',
    summary:
      'Lists costs that no charge could cover, the newest first; those of archived months are in their files.',
    roles: ALL,
    query: z.strictObject({ account: AccountId.optional(), ...PAGE }),
    answer: pageOf('WriteOffPage', WriteOff),
    errors: ['not_found'],
  }),
}
