import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { KeyNotValid } from '#libs/billing-client/key-not-valid.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import { RETRY_AFTER_S } from '../../retry-after.ts'

/** A failure of a call to billing as the caller may see it. `message`: where billing does not answer. */
export function explainFailure(error: unknown, message: string): unknown {
  if (error instanceof KeyNotValid) {
    return new ApiError('invalid_key', 'The management key is no longer valid.')
  }
  if (!(error instanceof BillingUnavailable)) return error
  return new ApiError('model_unavailable', message, {
    retryAfterS: RETRY_AFTER_S.dependencyDown,
    cause: error,
  })
}
