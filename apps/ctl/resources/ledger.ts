import { z } from 'zod'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { defineCommand } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { readText, text, toNumber } from '../fields.ts'
import { followExport } from '../follow-export.ts'

/** The entries of one request. */
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

export const LEDGER_COMMANDS = [exportLedger] as const

function toFormat(given: string): 'csv' | 'jsonl' {
  if (given === 'csv' || given === 'jsonl') return given
  throw new RangeError(`${JSON.stringify(given)} is neither jsonl nor csv`)
}
