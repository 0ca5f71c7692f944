import { z } from 'zod'
import { toTime } from '../cells.ts'
import { defineList } from '../command.ts'
import { text } from '../fields.ts'

const AuditRecord = z.object({
  at: z.string(),
  actor: z.string(),
  role: z.string(),
  action: z.string(),
  target: z.string().nullable(),
  reason: z.string().nullable(),
})

const list = defineList({
  name: 'audit',
  summary: 'Lists what operators changed, the newest first; the details are in --json.',
  fields: {
    actor: text('NAME', 'name of the credential'),
    action: text('ACTION', 'such as topUp or revokeKey'),
    target: text('ID', 'of what was changed'),
    from: text('TIME', 'such as 2030-01-01T00:00:00Z'),
    to: text('TIME', 'exclusive'),
  },
  examples: ['audit --action topUp', 'audit --target 8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77 --json'],
  path: '/audit',
  item: AuditRecord,
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
