import { z } from 'zod'
import { toTime, toYesNo } from '../cells.ts'
import { defineCall, defineList } from '../command.ts'
import { flag } from '../fields.ts'
import { formatTable } from '../table.ts'

/** Longer than the longest comparison may take, from the first entry on. */
const PATIENCE_MS = 11 * 60_000

const Counts = z.array(z.object({ question: z.string(), rows: z.number() }))

const reconcile = defineCall({
  name: 'reconcile',
  summary: 'Compares the books with themselves, now; exits with 1 when they do not agree.',
  fields: z.strictObject({ whole: flag('from the first entry on, seals included: may take minutes') }),
  examples: ['reconcile', 'reconcile --whole'],
  request: (query) => ({ method: 'GET', path: '/reconciliation', query, patienceMs: PATIENCE_MS }),
  answer: z.object({ whole: z.boolean(), agrees: z.boolean(), counts: Counts }),
  show: ({ agrees, counts }) =>
    formatTable(
      [
        { title: 'question', cell: ({ question }) => question },
        { title: 'rows', cell: ({ rows }) => rows, align: 'right' },
      ],
      counts,
    ) + (agrees ? '\nThe books agree.\n' : '\nTHE BOOKS DO NOT AGREE: every row above 0 contradicts them.\n'),
  isBadNews: ({ agrees }) => !agrees,
})

const runs = defineList({
  name: 'reconciliations',
  summary: 'Lists the scheduled comparisons, the newest first.',
  fields: {},
  examples: ['reconciliations --limit 96'],
  path: '/reconciliation/runs',
  item: z.object({ at: z.string(), agrees: z.boolean(), counts: Counts }),
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
