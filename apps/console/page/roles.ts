import type { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { App } from './app.ts'

/** The roles that may use the operations behind the page's buttons. The compiler compares them with `ADMIN`. */
const ROLES: { readonly [Id in keyof typeof ADMIN]?: (typeof ADMIN)[Id]['roles'] } = {
  createAccount: ['owner', 'support'],
  changeAccount: ['owner', 'support'],
  closeAccount: ['owner', 'support'],
  reopenAccount: ['owner', 'support'],
  createKey: ['owner', 'support'],
  changeKey: ['owner', 'support'],
  rotateKey: ['owner', 'support'],
  disableKey: ['owner', 'support'],
  enableKey: ['owner', 'support'],
  revokeKey: ['owner', 'support'],
  createManagementKey: ['owner', 'support'],
  revokeManagementKey: ['owner', 'support'],
  topUp: ['owner', 'support'],
  adjust: ['owner', 'support'],
  releaseHold: ['owner', 'ops'],
  reconcile: ['owner', 'ops'],
  publishCatalog: ['owner', 'ops'],
  listCredentials: ['owner'],
  createCredential: ['owner'],
  revokeCredential: ['owner'],
}

/**
 * Returns true if the viewer's role may use the operation. Billing itself enforces the roles. The page uses this
 * function to hide each button whose request billing would refuse, because such a button is useless to the viewer.
 */
export function may(app: Pick<App, 'me'>, operation: keyof typeof ROLES): boolean {
  const roles: readonly string[] = ROLES[operation] ?? []
  return roles.includes(app.me.role)
}
