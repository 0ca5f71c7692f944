import { hashApiKey } from '#libs/api-key/api-key.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { askAs } from './ask-as.ts'
import { openBillingDatabase } from './billing-database.ts'
import { createPatientClient } from './patient-client.ts'

export type ManagedAccount = Awaited<ReturnType<typeof openManagedAccount>>

/** Opens billing with an account of 10,000 nano-credits, which has an API key and a management key. */
export async function openManagedAccount() {
  const database = await openBillingDatabase()
  const { address, stop } = await database.serve()
  const billing = createPatientClient({ address })
  const account = await database.createAccount(10_000n)
  const createManager = async (accountId: string, more: object = {}) =>
    await database.operator.call(ADMIN.createManagementKey, { account: accountId, name: 'tool', ...more })
  const manager = await createManager(account.accountId)

  return {
    database,
    billing,
    account,
    manager,
    createManager,
    ...actsOf(manager.id),
    actsOf,
    lookUp: async (secret: string) => await billing.lookUpManagementKey(hashApiKey(secret)),
    /** Returns the audit log of a target, newest entry first. */
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

  /** Returns the operations of a management key. Each throws the ApiError of a refusal. */
  function actsOf(managementKeyId: string) {
    const ask = askAs(billing, { managementKeyId })
    const once = (key: string | undefined) => (key === undefined ? {} : { 'idempotency-key': key })
    return {
      ask,
      create: async (body: object = {}, idempotencyKey?: string) =>
        await ask('createKey', { body, headers: once(idempotencyKey) }),
      rotate: async (id: string, overlapSeconds: number, idempotencyKey?: string) =>
        await ask('rotateKey', {
          params: { id },
          body: { overlap_seconds: overlapSeconds },
          headers: once(idempotencyKey),
        }),
      read: async (id: string) => (await ask('readAccountKey', { params: { id } })).data,
      change: async (id: string, body: object) => (await ask('changeKey', { params: { id }, body })).data,
      revoke: async (id: string) => (await ask('revokeKey', { params: { id } })).data,
    }
  }
}
