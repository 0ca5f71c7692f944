import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { toTime, toYesNo } from '../cells.ts'
import { defineCall, defineList } from '../command.ts'
import { flag } from '../fields.ts'
import { formatTable } from '../table.ts'

/** The longest pause in the answer: a comparison from the first entry on takes less. */
const SILENCE_MS = 11 * 60_000

const reconcile = defineCall({
  name: 'reconcile',
  operation: ADMIN.reconcile,
  summary: 'Compares the books with themselves, now; exits with 1 when they do not agree.',
  fields: { whole: flag('from the first entry on, seals included: may take minutes') },
  examples: ['reconcile', 'reconcile --whole'],
  silenceMs: SILENCE_MS,
  show: ({ agrees, counts }) =>
    formatTable(
      [
        { title: 'question', cell: ({ question }) => question },
        { title: 'rows', cell: ({ rows }) => rows, align: 'right' },
      ],
      counts,
    ) + (agrees ? '\nThe books agree.\n' : '\nTHE BOOKS DO NOT AGREE: every row above 0 contradicts them.\n'),
  isProblem: ({ agrees }) => !agrees,
})

const runs = defineList({
  name: 'reconciliations',
  operation: ADMIN.listReconciliations,
  fields: {},
  examples: ['reconciliations --limit 96'],
  columns: [
    { title: 'at', cell: ({ at }) => toTime(at) },
    { title: 'agrees', cell: ({ agrees }) => toYesNo(agrees) },
    {
      title: 'contradicted',
      cell: ({ counts }) =>
        counts
          .filter(({ rows }) => rows !== 0)
          .map(({ question, rows }) => `${question}: ${rows}`)
          .join(', ') || null,
    },
  ],
})

export const RECONCILIATION_COMMANDS = [reconcile, runs] as const
