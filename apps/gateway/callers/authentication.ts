import { hashApiKey, isWellFormedApiKey, isWellFormedManagementKey } from '#libs/api-key/api-key.ts'
import type { BillingClient } from '#libs/billing-client/billing-client.ts'
import type { Caller } from './caller.ts'
import { createAuthenticate, type Authenticate } from './authenticate.ts'
import type { AuthenticateManager } from './identify.ts'

/** Authenticates both kinds of keys by billing's answers. Follows changes of API keys until `billing` is closed. */
export function createAuthentication({
  billing,
  nowMs,
  wallClockMs,
}: {
  billing: Pick<BillingClient, 'lookUpKey' | 'lookUpManagementKey' | 'watchKeys'>
  nowMs: () => number
  wallClockMs: () => number
}): {
  authenticate: Authenticate
  authenticateManager: AuthenticateManager
  suspectShortage: (caller: Caller) => void
} {
  const { authenticate, applyKeyChanges, suspectShortage } = createAuthenticate({
    lookUpKey: billing.lookUpKey,
    hashApiKey,
    isWellFormed: isWellFormedApiKey,
    nowMs,
    wallClockMs,
  })
  billing.watchKeys({ onChanges: applyKeyChanges })
  // Changes of management keys are not pushed, so a revoked key may stay in the cache. Billing checks the management
  // key again in each call that the gateway forwards, and refuses a revoked key.
  const managers = createAuthenticate({
    lookUpKey: billing.lookUpManagementKey,
    hashApiKey,
    isWellFormed: isWellFormedManagementKey,
    nowMs,
    wallClockMs,
  })
  return {
    authenticate,
    suspectShortage,
    async authenticateManager(authorization, address) {
      const { keyId: managementKeyId, accountId } = await managers.authenticate(authorization, address)
      return { managementKeyId, accountId }
    },
  }
}
