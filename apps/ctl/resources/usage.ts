import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { defineList } from '../command.ts'
import { text } from '../fields.ts'

const usage = defineList({
  name: 'usage',
  operation: ADMIN.summarizeUsage,
  fields: { by: text('LIST', 'the dimensions, of day,account,key,model; default: all') },
  examples: [
    'usage --from 2030-01-01 --to 2030-01-31 --by model',
    'usage --from 2030-01-01 --to 2030-01-31 --by day,key --account 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11',
  ],
  shown: [
    'day',
    'accountId',
    'keyId',
    'model',
    'requests',
    'promptTokens',
    'cachedTokens',
    'completionTokens',
    'costNano',
    'chargedNano',
    'writtenOffNano',
  ],
})

export const USAGE_COMMANDS = [usage] as const
