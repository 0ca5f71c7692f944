import { z } from 'zod'
import { Id, Nano, Reason, Time, Whole } from '../fields.ts'
import { defineChange, defineExport, defineRead } from '../operation.ts'
import { ALL, OWNER, SERVICE } from '../roles.ts'
import { LedgerEntry } from './ledger.ts'

/** The files of a month. */
export const ArchivePart = z.enum(['ledger', 'usage', 'reservations'])
export type ArchivePart = z.infer<typeof ArchivePart>

const Month = z
  .string()
  .regex(/^\d{4}-(?:0[1-9]|1[0-2])$/, 'expected a month such as 2026-01')
  .meta({ example: '2026-01' })

const Sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'expected 64 hexadecimal digits')
  .meta({ description: 'Of the lines with their ends, uncompressed.' })

const ArchivedFile = z.strictObject({ lines: z.int().min(0), sha256: Sha256 })

export const ArchivedFiles = z.strictObject({
  ledger: ArchivedFile,
  usage: ArchivedFile,
  reservations: ArchivedFile,
})
export type ArchivedFiles = z.infer<typeof ArchivedFiles>

const Chain = z.string().meta({ description: "Hexadecimal; the hash of the seals' chain there." })

export const LedgerMonth = z
  .object({
    month: Month,
    state: z.enum(['kept', 'ready', 'archived']),
    problem: z.string().nullable().meta({ description: 'Why it is kept.' }),
    firstSeq: Whole,
    lastSeq: Whole.meta({ description: 'Inclusive; below firstSeq when there was no entry.' }),
    chainBefore: Chain.nullable(),
    chainAfter: Chain.nullable().meta({ description: 'Null while no seal ends with the month.' }),
    files: ArchivedFiles.nullable().meta({ description: 'Of an archived month.' }),
    archivedAt: Time.nullable(),
  })
  .meta({ id: 'LedgerMonth' })
export type LedgerMonth = z.infer<typeof LedgerMonth>

/** A settled request: a line of a month's usage file. */
export const ArchivedUsage = z
  .object({
    requestId: Id,
    accountId: Id,
    keyId: Id,
    model: z.string(),
    priceVersion: z.string(),
    epoch: z.int(),
    outcome: z.string(),
    promptTokens: z.int(),
    cachedTokens: z.int(),
    completionTokens: z.int(),
    costNano: Nano,
    chargedNano: Nano,
    late: z.boolean(),
    worker: z.string(),
    settledAt: Time,
  })
  .meta({ id: 'ArchivedUsage' })
export type ArchivedUsage = z.infer<typeof ArchivedUsage>

/**
 * A reservation: a line of a month's reservations file. A line may also be a tombstone, which records only that an id
 * was released before it was reserved. All fields of a tombstone except the first four are null.
 */
export const ArchivedReservation = z
  .object({
    requestId: Id,
    state: z.string(),
    createdAt: Time,
    closedAt: Time.nullable(),
    accountId: Id.nullable(),
    keyId: Id.nullable(),
    model: z.string().nullable(),
    priceVersion: z.string().nullable(),
    estimatedInputTokens: z.int().nullable(),
    wantedTokens: z.int().nullable(),
    exactInputTokens: z.int().nullable(),
    exactWantedTokens: z.int().nullable(),
    grantedTokens: z.int().nullable(),
    amountNano: Nano.nullable(),
    clamped: z.boolean().nullable(),
    deadline: Time.nullable(),
    extendedDeadline: Time.nullable(),
    expiresAt: Time.nullable(),
    budgetPeriod: z.string().nullable(),
  })
  .meta({ id: 'ArchivedReservation' })
export type ArchivedReservation = z.infer<typeof ArchivedReservation>

const MonthLine = z
  .union([LedgerEntry, ArchivedUsage, ArchivedReservation])
  .meta({ id: 'MonthLine', description: 'Of the ledger, of usage or of reservations, as was asked for.' })

export const ARCHIVES = {
  listMonths: defineRead({
    path: '/months',
    summary: 'Lists the ended months of the books, the oldest first, with those that are archived.',
    description: 'A kept month has a problem; a month that is ready can be archived once the older ones are.',
    roles: ALL,
    answer: z.object({ data: z.array(LedgerMonth) }).meta({ id: 'LedgerMonths' }),
  }),

  exportMonth: defineExport({
    path: '/months/lines',
    summary: 'Exports the lines of one file of a month that is not archived.',
    roles: SERVICE,
    query: z.strictObject({ month: Month, part: ArchivePart }),
    lines: { 'application/jsonl': MonthLine },
    errors: ['not_found'],
  }),

  archiveMonth: defineChange({
    method: 'POST',
    path: '/months/archive',
    summary: 'Removes a month from the database, whose files were written and read again.',
    description:
      'The files are compared with the database first, line by line, which may take minutes. The oldest month is the first. The same request again changes nothing.',
    roles: OWNER,
    body: z.strictObject({ month: Month, files: ArchivedFiles, reason: Reason }),
    answer: LedgerMonth,
    errors: ['not_found', 'conflict'],
  }),
}
