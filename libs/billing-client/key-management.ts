import { callUnary } from '#libs/grpc/call-unary.ts'
import type { BillingClient as GrpcClient } from '#proto/types/millrace/billing/Billing.ts'
import type { ListAccountKeysResponse__Output } from '#proto/types/millrace/billing/ListAccountKeysResponse.ts'
import type { LookUpKeyRequest } from '#proto/types/millrace/billing/LookUpKeyRequest.ts'
import type { LookUpKeyResponse__Output } from '#proto/types/millrace/billing/LookUpKeyResponse.ts'
import type { ManageKeyRequest } from '#proto/types/millrace/billing/ManageKeyRequest.ts'
import type { ManageKeyResponse__Output } from '#proto/types/millrace/billing/ManageKeyResponse.ts'
import type { BillingKey } from './billing-calls.ts'
import { fromKeyMessage } from './billing-wire.ts'
import { rethrowForCallers } from './rethrow-for-callers.ts'

type Page = { readonly managementKeyId: string; readonly limit: number; readonly cursor: string }

/**
 * A management key's operations, as messages of `proto/billing.proto`. Each function rejects as `rethrowForCallers`
 * does.
 */
export type KeyManagement = {
  /**
   * The `keyId` of the answer names the management key. Returns null if that key is unknown, revoked or expired, or its
   * account is closed.
   */
  lookUpManagementKey(sha256: Buffer): Promise<BillingKey | null>
  /** `cursor` comes from the page before; it is empty for the first page. */
  listAccountKeys(page: Page): Promise<ListAccountKeysResponse__Output>
  /** A change whose answer was lost may have taken effect. */
  manageKey(request: ManageKeyRequest): Promise<ManageKeyResponse__Output>
}

export function createKeyManagement(client: GrpcClient, timeoutMs: number): KeyManagement {
  return {
    async lookUpManagementKey(keySha256) {
      const { key } = await rethrowForCallers(
        callUnary<LookUpKeyRequest, LookUpKeyResponse__Output>(
          (request, options, callback) => client.lookUpManagementKey(request, options, callback),
          { keySha256 },
          { timeoutMs },
        ),
      )
      return key ? fromKeyMessage(key) : null
    },
    async listAccountKeys(page) {
      return await rethrowForCallers(
        callUnary<Page, ListAccountKeysResponse__Output>(
          (request, options, callback) => client.listAccountKeys(request, options, callback),
          page,
          { timeoutMs },
        ),
      )
    },
    async manageKey(request) {
      return await rethrowForCallers(
        callUnary<ManageKeyRequest, ManageKeyResponse__Output>(
          (message, options, callback) => client.manageKey(message, options, callback),
          request,
          { timeoutMs },
        ),
      )
    },
  }
}
