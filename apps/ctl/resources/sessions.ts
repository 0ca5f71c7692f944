import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { defineCall, defineList } from '../command.ts'

const list = defineList({
  name: 'sessions list',
  operation: ADMIN.listSessions,
  examples: ['sessions list --open true'],
  shown: [
    ['id', 'session'],
    'name',
    'role',
    'open',
    ['createdAt', 'began'],
    'lastUsedAt',
    'endedAt',
    'userAgent',
  ],
})

const end = defineCall({
  name: 'sessions end',
  operation: ADMIN.endSession,
  examples: ['sessions end 0b0f4d1e-7c0c-4f0e-9a56-6f2f9f6f2a10'],
  show: [['id', 'session'], 'name', 'role', 'endedAt'],
})

export const SESSION_COMMANDS = [list, end] as const
