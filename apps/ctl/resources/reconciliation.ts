import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { defineCall, defineList } from '../command.ts'
import { flag } from '../fields.ts'
import { showTable } from '../view.ts'

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
    showTable(ADMIN.reconcile.answer.shape.counts.element, ['question', 'rows'], counts) +
    (agrees ? '\nThe books agree.\n' : '\nTHE BOOKS DO NOT AGREE: every row above 0 contradicts them.\n'),
  isProblem: ({ agrees }) => !agrees,
})

const runs = defineList({
  name: 'reconciliations',
  operation: ADMIN.listReconciliations,
  examples: ['reconciliations --limit 96'],
  shown: [
    'at',
    'agrees',
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

const seals = defineList({
  name: 'seals',
  operation: ADMIN.listSeals,
  examples: ['seals', 'seals --limit 366 --json'],
  shown: ['day', 'firstSeq', 'lastSeq', 'entries', 'sha256', 'sealedAt'],
})

export const RECONCILIATION_COMMANDS = [reconcile, runs, seals] as const
