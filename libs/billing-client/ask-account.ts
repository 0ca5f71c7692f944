import { status } from '@grpc/grpc-js'
import type { AccountOperationId } from '#libs/account-contract/account-contract.ts'
import { API_ERRORS, ApiError, type ApiErrorCode } from '#libs/contracts/api-error.ts'
import { callUnary } from '#libs/grpc/call-unary.ts'
import type { Asked } from '#libs/http-contract/parse-asked.ts'
import type { AskRequest } from '#proto/types/millrace/billing/AskRequest.ts'
import type { AskResponse__Output } from '#proto/types/millrace/billing/AskResponse.ts'
import type { BillingClient as GrpcClient } from '#proto/types/millrace/billing/Billing.ts'
import { BillingUnavailable } from './billing-unavailable.ts'

/**
 * The caller of an operation: an API key, which may ask about itself and its own requests, or a management key, which
 * may ask about its account.
 */
export type Asker = { readonly keyId: string } | { readonly managementKeyId: string }

/**
 * The public answer as JSON, or the error that the caller gets in its place. In case of a refusal, nothing was done.
 */
export type AccountAnswer = { readonly json: string } | { readonly refusal: ApiError }

/**
 * Asks billing for one operation of the accounts' contract. A change whose answer was lost may have taken effect.
 * Rejects with BillingUnavailable when there is no answer, and with a RangeError when billing refuses the request as
 * malformed.
 */
export type AskAccount = (operation: AccountOperationId, asker: Asker, asked: Asked) => Promise<AccountAnswer>

export function createAskAccount(client: GrpcClient, timeoutMs: number): AskAccount {
  return async (operation, asker, asked) => {
    const { json, refusal } = await callUnary<AskRequest, AskResponse__Output>(
      (request, options, callback) => client.ask(request, options, callback),
      { operation, ...asker, json: JSON.stringify(asked) },
      { timeoutMs },
    ).catch((error: unknown) => {
      const code = error instanceof Error && 'code' in error ? error.code : null
      if (code === status.INVALID_ARGUMENT)
        throw new RangeError('billing refused a request', { cause: error })
      throw new BillingUnavailable('a caller was not answered', { cause: error })
    })
    if (refusal != null) return { refusal: toApiError(refusal) }
    if (json === undefined) throw new BillingUnavailable('an answer is neither JSON nor a refusal')
    return { json }
  }
}

function toApiError({ code, message, param }: { code: string; message: string; param: string }): ApiError {
  return new ApiError(isKnown(code) ? code : 'upstream_error', message, param === '' ? {} : { param })
}

function isKnown(code: string): code is ApiErrorCode {
  return Object.hasOwn(API_ERRORS, code)
}
