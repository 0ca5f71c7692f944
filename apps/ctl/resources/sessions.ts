import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { toTime, toYesNo } from '../cells.ts'
import { defineCall, defineList } from '../command.ts'
import { argument, text } from '../fields.ts'
import { formatFields } from '../table.ts'

const list = defineList({
  name: 'sessions list',
  operation: ADMIN.listSessions,
  fields: { open: text('BOOLEAN', 'true: only open ones; false: only others') },
  examples: ['sessions list --open true'],
  columns: [
    { title: 'session', cell: ({ id }) => id },
    { title: 'name', cell: ({ name }) => name },
    { title: 'role', cell: ({ role }) => role },
    { title: 'open', cell: ({ open }) => toYesNo(open) },
    { title: 'began', cell: ({ createdAt }) => toTime(createdAt) },
    { title: 'last used', cell: ({ lastUsedAt }) => toTime(lastUsedAt) },
    { title: 'ended', cell: ({ endedAt }) => toTime(endedAt) },
    { title: 'user agent', cell: ({ userAgent }) => userAgent },
  ],
})

const end = defineCall({
  name: 'sessions end',
  operation: ADMIN.endSession,
  fields: { session: argument('SESSION', 'its id') },
  examples: ['sessions end 0b0f4d1e-7c0c-4f0e-9a56-6f2f9f6f2a10'],
  show: ({ id, name, role, endedAt }) =>
    formatFields([
      ['session', id],
      ['name', name],
      ['role', role],
      ['ended', toTime(endedAt)],
    ]),
})

export const SESSION_COMMANDS = [list, end] as const
