import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { defineList } from '../command.ts'

const list = defineList({
  name: 'audit',
  operation: ADMIN.listAudit,
  summary: 'Lists the changes that operators made, the newest first; --json has the details.',
  examples: ['audit --action topUp', 'audit --target 8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77 --json'],
  shown: ['at', 'actor', 'role', 'action', 'target', 'reason'],
})

export const AUDIT_COMMANDS = [list] as const
