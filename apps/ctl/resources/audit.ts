import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { toTime } from '../cells.ts'
import { defineList } from '../command.ts'
import { text } from '../fields.ts'

const list = defineList({
  name: 'audit',
  operation: ADMIN.listAudit,
  summary: 'Lists the changes that operators made, the newest first; --json has the details.',
  fields: {
    actor: text('NAME', 'name of the credential'),
    action: text('ACTION', 'such as topUp or revokeKey'),
    target: text('ID', 'of the changed resource'),
    from: text('TIME', 'such as 2030-01-01T00:00:00Z'),
    to: text('TIME', 'exclusive'),
  },
  examples: ['audit --action topUp', 'audit --target 8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77 --json'],
  columns: [
    { title: 'at', cell: ({ at }) => toTime(at) },
    { title: 'actor', cell: ({ actor }) => actor },
    { title: 'role', cell: ({ role }) => role },
    { title: 'action', cell: ({ action }) => action },
    { title: 'target', cell: ({ target }) => target },
    { title: 'reason', cell: ({ reason }) => reason },
  ],
})

export const AUDIT_COMMANDS = [list] as const
