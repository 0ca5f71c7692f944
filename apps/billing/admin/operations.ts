import { ADMIN, type OperationId } from '#libs/admin-contract/admin-contract.ts'
import { implementRead, type Implementation } from './implement.ts'
import { ACCOUNT_OPERATIONS } from './resources/accounts.ts'
import { ALARM_OPERATIONS } from './resources/alarms.ts'
import { ARCHIVE_OPERATIONS } from './resources/archives.ts'
import { AUDIT_OPERATIONS } from './resources/audit.ts'
import { CATALOG_OPERATIONS } from './resources/catalog.ts'
import { CREDENTIAL_OPERATIONS } from './resources/credentials.ts'
import { CREDIT_OPERATIONS } from './resources/credits.ts'
import { HOLD_OPERATIONS } from './resources/holds.ts'
import { KEY_OPERATIONS } from './resources/keys.ts'
import { LEDGER_OPERATIONS } from './resources/ledger.ts'
import { MANAGEMENT_KEY_OPERATIONS } from './resources/management-keys.ts'
import { RECONCILIATION_OPERATIONS } from './resources/reconciliation.ts'
import { REQUEST_OPERATIONS } from './resources/requests.ts'
import { SESSION_OPERATIONS } from './resources/sessions.ts'
import { STATE_OPERATIONS } from './resources/state.ts'
import { USAGE_OPERATIONS } from './resources/usage.ts'
import { toSession } from './sessions.ts'

/**
 * The implementation of every operation. The compiler checks that each operation of `#libs/admin-contract` is
 * implemented, and that no other operation is.
 */
export const OPERATIONS: { readonly [Id in OperationId]: Implementation<(typeof ADMIN)[Id]> } = {
  whoAmI: implementRead(ADMIN.whoAmI, async (_asked, { actor: { name, role, by }, now }) => {
    return { name, role, session: by.kind === 'session' ? toSession(by.session, now) : null }
  }),
  ...ACCOUNT_OPERATIONS,
  ...KEY_OPERATIONS,
  ...MANAGEMENT_KEY_OPERATIONS,
  ...CREDIT_OPERATIONS,
  ...HOLD_OPERATIONS,
  ...REQUEST_OPERATIONS,
  ...USAGE_OPERATIONS,
  ...LEDGER_OPERATIONS,
  ...ARCHIVE_OPERATIONS,
  ...ALARM_OPERATIONS,
  ...CATALOG_OPERATIONS,
  ...RECONCILIATION_OPERATIONS,
  ...AUDIT_OPERATIONS,
  ...CREDENTIAL_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...STATE_OPERATIONS,
}
