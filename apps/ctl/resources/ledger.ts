import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { LedgerMonth } from '#libs/admin-contract/resources/archives.ts'
import { parseAnswer, type Admin } from '../admin.ts'
import { archiveMonth, isArchiveOf } from '../archive/archive-month.ts'
import { manifestName } from '../archive/manifest.ts'
import { verifyMonth } from '../archive/verify-month.ts'
import { defineCall, defineCommand, defineList } from '../command.ts'
import { CommandError } from '../command-error.ts'
import {
  argument,
  readRequiredText,
  readText,
  REQUIRED_REASON,
  requiredText,
  text,
  toNumber,
} from '../fields.ts'
import { followExport } from '../follow-export.ts'
import { showTable } from '../view.ts'

/** The most ledger entries that are requested at once. */
const PORTION = 100_000

const exportLedger = defineCommand({
  name: 'ledger export',
  summary: 'Writes ledger entries, the oldest first; amounts are nano-credits.',
  fields: z.strictObject({
    account: text('ACCOUNT', 'only entries that credit or debit it'),
    format: readText({ value: 'FORMAT', help: 'jsonl (default) or csv' }, toFormat),
    limit: readText({ value: 'NUMBER', help: 'how many at most; default: all' }, toNumber),
    cursor: text('CURSOR', 'continue after the line with this cursor'),
  }),
  examples: [
    'ledger export --format csv > ledger.csv',
    'ledger export --cursor NDI > since-then.jsonl',
    'ledger export --account 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --limit 100',
  ],
  async run({ account, format = 'jsonl', limit, cursor }, { admin, isJson, write }) {
    if (isJson && format === 'csv') throw new CommandError('usage', 'An export is either --json or CSV.')
    const open = async (portion: { limit: number; cursor: string | undefined }) =>
      await admin.open(ADMIN.exportLedger, { account, format, ...portion })
    await followExport({ open, write }, { format, limit, cursor, portion: PORTION })
    return undefined
  },
})

const months = defineCall({
  name: 'ledger months',
  operation: ADMIN.listMonths,
  examples: ['ledger months'],
  show: ({ data }) => formatMonths(data),
})

const archive = defineCommand({
  name: 'ledger archive',
  summary: 'Writes the months before one to files, reads them again, and removes them from the database.',
  fields: z.strictObject({
    before: readRequiredText({ value: 'YYYY-MM', help: 'the first month that stays' }, toMonth),
    to: requiredText('FOLDER', 'where the files are written; it must exist'),
    reason: REQUIRED_REASON,
  }),
  examples: ['ledger archive --before 2026-07 --to /archive/millrace --reason "yearly archive"'],
  async run({ before, to: folder, reason }, { admin, note }) {
    const earlier = (await readMonths(admin)).filter(({ month }) => month < before)
    const kept = earlier.filter(({ state }) => state === 'kept')
    if (kept.length > 0) {
      const reasons = kept.map(({ month, problem }) => `${month}: ${problem}`).join('; ')
      throw new CommandError('refused', `Nothing was archived. ${reasons}.`)
    }
    const done: LedgerMonth[] = []
    for (const month of earlier) {
      if (month.state === 'archived') await checkEarlier(folder, month)
      else done.push(await archiveMonth(admin, month, { folder, reason }))
      if (month.state !== 'archived') note(`${month.month} is archived`)
    }
    return { answer: { archived: done }, text: formatMonths(done) }
  },
})

const verify = defineCommand({
  name: 'ledger verify',
  summary: 'Compares the files of an archived month with its manifest; exits with 1 when they differ.',
  fields: z.strictObject({
    manifest: argument('MANIFEST', 'the path of the manifest; the files are beside it'),
    request: text('ID', 'also show what the files have on this request'),
  }),
  examples: [
    'ledger verify /archive/millrace/2026-01.manifest.json',
    'ledger verify 2026-01.manifest.json --request 019b7a2e-5c1d-7a37-b0a4-6a0f6b1d2c33',
  ],
  async run({ manifest: path, request }) {
    const { manifest, problems, found } = await verifyMonth(path, request)
    const lines = Object.entries(found).flatMap(([part, values]) => {
      return values.map((value) => `${part} ${JSON.stringify(value)}\n`)
    })
    const verdict =
      problems.length === 0
        ? `${manifest.month} is as it was archived; chain ${manifest.chainAfter}\n`
        : `${problems.join('\n')}\n${manifest.month} IS NOT AS IT WAS ARCHIVED\n`
    return {
      answer: { manifest, problems, ...(request === undefined ? {} : { found }) },
      text: `${lines.join('')}${verdict}`,
      isProblem: problems.length > 0 || (request !== undefined && lines.length === 0),
    }
  },
})

const writeOffs = defineList({
  name: 'write-offs',
  operation: ADMIN.listWriteOffs,
  examples: ['write-offs', 'write-offs --account 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11'],
  shown: [
    'requestId',
    'accountId',
    'model',
    'costNano',
    'chargedNano',
    'writtenOffNano',
    'late',
    'settledAt',
  ],
})

export const LEDGER_COMMANDS = [exportLedger, months, archive, verify, writeOffs] as const

async function readMonths(admin: Admin): Promise<LedgerMonth[]> {
  return parseAnswer(ADMIN.listMonths.answer, await admin.ask(ADMIN.listMonths, {})).data
}

/** Checks the files of a month that is already archived, if they are in this folder; they may be elsewhere. */
async function checkEarlier(folder: string, month: LedgerMonth): Promise<void> {
  const path = join(folder, manifestName(month.month))
  if (!existsSync(path)) return
  const { manifest, problems } = await verifyMonth(path)
  if (problems.length === 0 && isArchiveOf(month, manifest)) return
  throw new CommandError('refused', `${path} is not the archive that billing knows of ${month.month}.`)
}

function formatMonths(data: readonly LedgerMonth[]): string {
  return showTable(
    LedgerMonth,
    [
      'month',
      'state',
      'firstSeq',
      'lastSeq',
      'chainAfter',
      { title: 'entries', cell: ({ files }) => files?.ledger.lines ?? null, align: 'right' },
      { title: 'requests', cell: ({ files }) => files?.reservations.lines ?? null, align: 'right' },
      ['problem', 'why'],
    ],
    data,
  )
}

function toMonth(given: string): string {
  if (/^\d{4}-(?:0[1-9]|1[0-2])$/.test(given)) return given
  throw new RangeError(`${JSON.stringify(given)} is not a month such as 2026-07`)
}

function toFormat(given: string): 'csv' | 'jsonl' {
  if (given === 'csv' || given === 'jsonl') return given
  throw new RangeError(`${JSON.stringify(given)} is neither jsonl nor csv`)
}
