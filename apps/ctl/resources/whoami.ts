import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { defineCall } from '../command.ts'
import { formatFields } from '../table.ts'

const whoAmI = defineCall({
  name: 'whoami',
  operation: ADMIN.whoAmI,
  fields: {},
  examples: ['whoami'],
  show: ({ name, role }) =>
    formatFields([
      ['name', name],
      ['role', role],
    ]),
})

export const WHOAMI_COMMANDS = [whoAmI] as const
