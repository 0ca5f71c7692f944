import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { toTime } from '../cells.ts'
import { defineList } from '../command.ts'

const list = defineList({
  name: 'seals',
  operation: ADMIN.listSeals,
  fields: {},
  examples: ['seals', 'seals --limit 366 --json'],
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
