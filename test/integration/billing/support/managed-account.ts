import { expect } from 'vitest'
import { hashApiKey } from '#libs/api-key/api-key.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { ManageKeyRequest } from '#proto/types/millrace/billing/ManageKeyRequest.ts'
import { openBillingDatabase } from './billing-database.ts'
import { createPatientClient } from './patient-client.ts'

export type ManagedAccount = Awaited<ReturnType<typeof openManagedAccount>>

/** Billing with an account of 10,000 nano-credits, which has an API key and a management key. */
export async function openManagedAccount() {
  const database = await openBillingDatabase()
  const { address, stop } = await database.serve()
  const billing = createPatientClient({ address })
  const account = await database.createAccount(10_000n)
  const createManager = async (accountId: string, more: object = {}) =>
    await database.operator.call(ADMIN.createManagementKey, { account: accountId, name: 'tool', ...more })
  const manager = await createManager(account.accountId)

  /** An act of the account's management key. */
  const manage = async (act: ManageKeyRequest) =>
    await billing.manageKey({ managementKeyId: manager.id, ...act })

  return {
    database,
    billing,
    account,
    manager,
    createManager,
    manage,
    lookUp: async (secret: string) => await billing.lookUpManagementKey(hashApiKey(secret)),
    /** An act that is not refused. */
    async done(act: ManageKeyRequest) {
      const answer = await manage(act)
      expect(answer.refusal).toBeNull()
      return { ...answer, id: answer.key?.keyId ?? '' }
    },
    /** The newest first. */
    async auditOf(target: string) {
      const { data } = await database.operator.call(ADMIN.listAudit, { target })
      return data.map(({ actor, role, action, details }) => ({ actor, role, action, details }))
    },
    async close() {
      await database.expectReconciled()
      billing.close()
      await stop()
      await database.close()
    },
  }
}

/** The answer to an act that is refused. */
export const refused = (reason: string, param = '') => ({
  key: null,
  secret: '',
  refusal: { reason, param, message: expect.any(String) },
})
