import { z } from 'zod'
import { NOTHING, defineRead, type Operation } from './operation.ts'
import { ACCOUNT_OPERATIONS } from './resources/accounts.ts'
import { ALARM_OPERATIONS } from './resources/alarms.ts'
import { AUDIT_OPERATIONS } from './resources/audit.ts'
import { CATALOG_OPERATIONS } from './resources/catalog.ts'
import { CREDENTIAL_OPERATIONS } from './resources/credentials.ts'
import { CREDIT_OPERATIONS } from './resources/credits.ts'
import { HOLD_OPERATIONS } from './resources/holds.ts'
import { KEY_STATE_OPERATIONS } from './resources/key-states.ts'
import { KEY_OPERATIONS } from './resources/keys.ts'
import { LEDGER_OPERATIONS } from './resources/ledger.ts'
import { RECONCILIATION_OPERATIONS } from './resources/reconciliation.ts'
import { REQUEST_OPERATIONS } from './resources/requests.ts'
import { USAGE_OPERATIONS } from './resources/usage.ts'
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
  ...HOLD_OPERATIONS,
  ...REQUEST_OPERATIONS,
  ...USAGE_OPERATIONS,
  ...LEDGER_OPERATIONS,
  ...ALARM_OPERATIONS,
  ...CATALOG_OPERATIONS,
  ...RECONCILIATION_OPERATIONS,
  ...AUDIT_OPERATIONS,
  ...CREDENTIAL_OPERATIONS,
]
