import { status, type ServiceError } from '@grpc/grpc-js'
import { BillingUnavailable } from './billing-unavailable.ts'
import { KeyNotValid } from './key-not-valid.ts'

/**
 * Awaits billing's answer to a caller's read or to a change by a management key. Rejects with BillingUnavailable when
 * billing does not answer, with KeyNotValid when the management key is not valid, and with a RangeError when billing
 * refuses a value.
 */
export async function rethrowForCallers<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer
  } catch (error) {
    const code = isServiceError(error) ? error.code : null
    if (code === status.INVALID_ARGUMENT) throw new RangeError('billing refused a value', { cause: error })
    if (code === status.UNAUTHENTICATED) throw new KeyNotValid({ cause: error })
    throw new BillingUnavailable('a caller was not answered', { cause: error })
  }
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error
}
