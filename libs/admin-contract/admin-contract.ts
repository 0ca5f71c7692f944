import { ACCOUNTS } from './resources/accounts.ts'
import { ALARMS } from './resources/alarms.ts'
import { ARCHIVES } from './resources/archives.ts'
import { AUDIT } from './resources/audit.ts'
import { CATALOG } from './resources/catalog.ts'
import { CREDENTIALS } from './resources/credentials.ts'
import { CREDITS } from './resources/credits.ts'
import { HOLDS } from './resources/holds.ts'
import { KEYS } from './resources/keys.ts'
import { LEDGER } from './resources/ledger.ts'
import { MANAGEMENT_KEYS } from './resources/management-keys.ts'
import { ME } from './resources/me.ts'
import { RECONCILIATION } from './resources/reconciliation.ts'
import { REQUESTS } from './resources/requests.ts'
import { SESSIONS } from './resources/sessions.ts'
import { STATE } from './resources/state.ts'
import { USAGE } from './resources/usage.ts'

/**
 * The path under which billing serves the operations. Their OpenAPI description is served below it, as `/openapi.json`.
 */
export const ADMIN_ROOT = '/admin/v1'

/**
 * Billing's admin interface: every operation by its id, with its path, roles and schemas. Billing serves it, and `ctl`
 * and other clients call it; nothing else repeats a path or a field.
 */
export const ADMIN = {
  ...ME,
  ...ACCOUNTS,
  ...KEYS,
  ...MANAGEMENT_KEYS,
  ...CREDITS,
  ...HOLDS,
  ...REQUESTS,
  ...USAGE,
  ...LEDGER,
  ...ARCHIVES,
  ...ALARMS,
  ...CATALOG,
  ...RECONCILIATION,
  ...AUDIT,
  ...CREDENTIALS,
  ...SESSIONS,
  ...STATE,
}

export type OperationId = keyof typeof ADMIN
