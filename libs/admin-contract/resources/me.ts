import { z } from 'zod'
import { defineRead } from '../operation.ts'
import { ALL, Role } from '../roles.ts'

export const ME = {
  whoAmI: defineRead({
    path: '/me',
    summary: 'Shows the name and the role of the token.',
    roles: ALL,
    answer: z.object({ name: z.string(), role: Role }).meta({ id: 'Actor' }),
  }),
}
