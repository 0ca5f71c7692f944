import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { toCredits } from '../cells.ts'
import { defineList } from '../command.ts'
import { requiredText, text } from '../fields.ts'

const usage = defineList({
  name: 'usage',
  operation: ADMIN.summarizeUsage,
  fields: {
    from: requiredText('DAY', 'the first day, such as 2030-01-01 (UTC)'),
    to: requiredText('DAY', 'the last day'),
    account: text('ACCOUNT', 'id of the account'),
    key: text('KEY', 'id of the key'),
    model: text('MODEL', 'id of the model'),
    by: text('LIST', 'the dimensions, of day,account,key,model; default: all'),
  },
  examples: [
    'usage --from 2030-01-01 --to 2030-01-31 --by model',
    'usage --from 2030-01-01 --to 2030-01-31 --by day,key --account 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11',
  ],
  columns: [
    { title: 'day', cell: ({ day }) => day },
    { title: 'account', cell: ({ accountId }) => accountId },
    { title: 'key', cell: ({ keyId }) => keyId },
    { title: 'model', cell: ({ model }) => model },
    { title: 'requests', cell: ({ requests }) => requests, align: 'right' },
    { title: 'prompt', cell: ({ promptTokens }) => promptTokens, align: 'right' },
    { title: 'cached', cell: ({ cachedTokens }) => cachedTokens, align: 'right' },
    { title: 'completion', cell: ({ completionTokens }) => completionTokens, align: 'right' },
    { title: 'cost', cell: ({ costNano }) => toCredits(costNano), align: 'right' },
    { title: 'charged', cell: ({ chargedNano }) => toCredits(chargedNano), align: 'right' },
    { title: 'written off', cell: ({ writtenOffNano }) => toCredits(writtenOffNano), align: 'right' },
  ],
})

export const USAGE_COMMANDS = [usage] as const
