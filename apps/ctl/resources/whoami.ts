import { z } from 'zod'
import { defineCall } from '../command.ts'
import { formatFields } from '../table.ts'

const whoAmI = defineCall({
  name: 'whoami',
  summary: 'Tells whose token is used.',
  fields: z.strictObject({}),
  examples: ['whoami'],
  request: () => ({ method: 'GET', path: '/me' }),
  answer: z.object({ name: z.string(), role: z.string() }),
  show: ({ name, role }) =>
    formatFields([
      ['name', name],
      ['role', role],
    ]),
})

export const WHOAMI_COMMANDS = [whoAmI] as const
