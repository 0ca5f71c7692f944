import { z } from 'zod'

export const Role = z.enum(['owner', 'support', 'ops'])
export type Role = z.infer<typeof Role>

const ALL = ['owner', 'support', 'ops'] as const
const CUSTOMERS = ['owner', 'support'] as const
const SERVICE = ['owner', 'ops'] as const
const OWNER = ['owner'] as const

/** Who may do what: support has customers' accounts, keys and credits; ops the service and its catalog. */
export const ROLES_OF = {
  whoAmI: ALL,
  describeInterface: ALL,

  createAccount: CUSTOMERS,
  listAccounts: ALL,
  readAccount: ALL,
  closeAccount: CUSTOMERS,
  reopenAccount: CUSTOMERS,

  topUp: CUSTOMERS,
  adjust: CUSTOMERS,

  createKey: CUSTOMERS,
  listKeys: ALL,
  readKey: ALL,
  changeKey: CUSTOMERS,
  rotateKey: CUSTOMERS,
  disableKey: CUSTOMERS,
  enableKey: CUSTOMERS,
  revokeKey: CUSTOMERS,

  listHolds: ALL,
  releaseHold: SERVICE,
  readRequest: ALL,
  summarizeUsage: ALL,
  exportLedger: ALL,
  listWriteOffs: ALL,
  listAlarms: ALL,

  readCatalog: ALL,
  listPriceVersions: ALL,
  publishCatalog: SERVICE,

  reconcile: SERVICE,
  listReconciliations: ALL,
  listSeals: ALL,
  listAudit: ALL,

  createCredential: OWNER,
  listCredentials: OWNER,
  revokeCredential: OWNER,
} as const satisfies Readonly<Record<string, readonly Role[]>>

export type OperationId = keyof typeof ROLES_OF

export function mayDo(role: Role, id: OperationId): boolean {
  const roles: readonly Role[] = ROLES_OF[id]
  return roles.includes(role)
}
