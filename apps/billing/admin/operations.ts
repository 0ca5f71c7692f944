import { z } from 'zod'
import { NOTHING, defineRead, type Operation } from './operation.ts'
import { ACCOUNT_OPERATIONS } from './resources/accounts.ts'
import { CREDENTIAL_OPERATIONS } from './resources/credentials.ts'
import { CREDIT_OPERATIONS } from './resources/credits.ts'
import { KEY_STATE_OPERATIONS } from './resources/key-states.ts'
import { KEY_OPERATIONS } from './resources/keys.ts'
import { RECONCILIATION_OPERATIONS } from './resources/reconciliation.ts'
import { Role } from './roles.ts'

const whoAmI = defineRead({
  id: 'whoAmI',
  method: 'GET',
  url: '/me',
  summary: 'Tells whose token this is.',
  path: NOTHING,
  query: NOTHING,
  body: NOTHING,
  answer: z.object({ name: z.string(), role: Role }).meta({ id: 'Actor' }),
  errors: [],
  run: async (_asked, { actor }) => actor,
})

/** Every operation but the description of them all. */
export const OPERATIONS: readonly Operation[] = [
  whoAmI,
  ...ACCOUNT_OPERATIONS,
  ...KEY_OPERATIONS,
  ...KEY_STATE_OPERATIONS,
  ...CREDIT_OPERATIONS,
  ...RECONCILIATION_OPERATIONS,
  ...CREDENTIAL_OPERATIONS,
]
