import { createBillingClient, type BillingClient } from '#libs/billing-client/billing-client.ts'

/** Creates a client of billing that waits longer for an answer than a gateway does, because the machine may be busy. */
export function createPatientClient({ address }: { readonly address: string }): BillingClient {
  return createBillingClient({ address, timeoutMs: 20_000 })
}
