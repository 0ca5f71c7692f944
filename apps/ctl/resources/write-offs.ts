import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { toCredits, toTime, toYesNo } from '../cells.ts'
import { defineList } from '../command.ts'
import { text } from '../fields.ts'

const list = defineList({
  name: 'write-offs',
  operation: ADMIN.listWriteOffs,
  fields: { account: text('ACCOUNT', 'id of the account') },
  examples: ['write-offs', 'write-offs --account 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11'],
  columns: [
    { title: 'request', cell: ({ requestId }) => requestId },
    { title: 'account', cell: ({ accountId }) => accountId },
    { title: 'model', cell: ({ model }) => model },
    { title: 'cost', cell: ({ costNano }) => toCredits(costNano), align: 'right' },
    { title: 'charged', cell: ({ chargedNano }) => toCredits(chargedNano), align: 'right' },
    { title: 'written off', cell: ({ writtenOffNano }) => toCredits(writtenOffNano), align: 'right' },
    { title: 'late', cell: ({ late }) => toYesNo(late) },
    { title: 'settled', cell: ({ settledAt }) => toTime(settledAt) },
  ],
})

export const WRITE_OFF_COMMANDS = [list] as const
