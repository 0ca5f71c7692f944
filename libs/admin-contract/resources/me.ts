import { z } from 'zod'
import { defineRead } from '../operation.ts'
import { ALL, Role } from '../roles.ts'
import { Session } from './sessions.ts'

export const ME = {
  whoAmI: defineRead({
    path: '/me',
    summary: 'Shows the name and the role of the token.',
    roles: ALL,
    answer: z
      .object({
        name: z.string(),
        role: Role,
        session: Session.nullable().meta({ description: 'Null for the token of a credential.' }),
      })
      .meta({ id: 'Actor' }),
  }),
}
