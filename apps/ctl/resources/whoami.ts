import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { defineCall } from '../command.ts'

const whoAmI = defineCall({
  name: 'whoami',
  operation: ADMIN.whoAmI,
  examples: ['whoami'],
  show: ['name', 'role'],
})

export const WHOAMI_COMMANDS = [whoAmI] as const
