import { z } from 'zod'
import { defineCommand } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { readText, text, toNumber } from '../fields.ts'
import { followExport } from '../follow-export.ts'

/** Asked for at a time. */
const PORTION = 100_000

const exportLedger = defineCommand({
  name: 'ledger export',
  summary: 'Writes ledger entries, the oldest first, all of them unless told; amounts are nano-credits.',
  fields: z.strictObject({
    account: text('ACCOUNT', 'only what credits or debits it'),
    format: readText({ value: 'FORMAT', help: 'jsonl (unless told) or csv' }, toFormat),
    limit: readText({ value: 'NUMBER', help: 'at most so many' }, toNumber),
    cursor: text('CURSOR', 'go on after the line that had it'),
  }),
  examples: [
    'ledger export --format csv > ledger.csv',
    'ledger export --cursor NDI > since-then.jsonl',
    'ledger export --account 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --limit 100',
  ],
  async run({ account, format = 'jsonl', limit, cursor }, { admin, isJson, write }) {
    if (isJson && format === 'csv') throw new CommandError('usage', 'An export is either --json or CSV.')
    const open = async (portion: { limit: number; cursor: string | undefined }) =>
      await admin.open({ method: 'GET', path: '/ledger', query: { account, format, ...portion } })
    await followExport({ open, write }, { format, limit, cursor, portion: PORTION })
    return undefined
  },
})

export const LEDGER_COMMANDS = [exportLedger] as const

function toFormat(given: string): 'csv' | 'jsonl' {
  if (given === 'csv' || given === 'jsonl') return given
  throw new RangeError(`${JSON.stringify(given)} is neither jsonl nor csv`)
}
