import { z } from 'zod'
import { toTime } from '../cells.ts'
import { defineList } from '../command.ts'

const Seal = z.object({
  day: z.string(),
  firstSeq: z.string(),
  lastSeq: z.string(),
  entries: z.string(),
  sha256: z.string(),
  sealedAt: z.string(),
})

const list = defineList({
  name: 'seals',
  summary: 'Lists the daily seals of the ledger, the newest first.',
  fields: {},
  examples: ['seals', 'seals --limit 366 --json'],
  path: '/seals',
  item: Seal,
  columns: [
    { title: 'day', cell: ({ day }) => day },
    { title: 'first', cell: ({ firstSeq }) => firstSeq, align: 'right' },
    { title: 'last', cell: ({ lastSeq }) => lastSeq, align: 'right' },
    { title: 'entries', cell: ({ entries }) => entries, align: 'right' },
    { title: 'sha256', cell: ({ sha256 }) => sha256 },
    { title: 'sealed', cell: ({ sealedAt }) => toTime(sealedAt) },
  ],
})

export const SEAL_COMMANDS = [list] as const
