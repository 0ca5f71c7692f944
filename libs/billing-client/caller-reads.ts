import { status, type ServiceError } from '@grpc/grpc-js'
import { callUnary } from '#libs/grpc/call-unary.ts'
import type { BillingClient as GrpcClient } from '#proto/types/millrace/billing/Billing.ts'
import type { KeyState__Output } from '#proto/types/millrace/billing/KeyState.ts'
import type { ListGenerationsResponse__Output } from '#proto/types/millrace/billing/ListGenerationsResponse.ts'
import type { ReadActivityResponse__Output } from '#proto/types/millrace/billing/ReadActivityResponse.ts'
import type { ReadGenerationResponse__Output } from '#proto/types/millrace/billing/ReadGenerationResponse.ts'
import type { ReadKeyResponse__Output } from '#proto/types/millrace/billing/ReadKeyResponse.ts'
import { BillingUnavailable } from './billing-unavailable.ts'

/**
 * What a caller may read of its own key, as messages of `proto/billing.proto`. Amounts are nano-credits as text. Each
 * rejects with BillingUnavailable when there is no answer, and with a RangeError when billing refuses a value.
 */
export type CallerReads = {
  /** Null: there is no such key. */
  readKey(keyId: string): Promise<KeyState__Output | null>
  readGeneration(keyId: string, reservationId: string): Promise<ReadGenerationResponse__Output>
  /** `cursor`: of the page before; empty for the first one. */
  listGenerations(
    keyId: string,
    page: { limit: number; cursor: string },
  ): Promise<ListGenerationsResponse__Output>
  /** Days as YYYY-MM-DD, both included. */
  readActivity(keyId: string, days: { from: string; to: string }): Promise<ReadActivityResponse__Output>
}

export function createCallerReads(client: GrpcClient, timeoutMs: number): CallerReads {
  return {
    async readKey(keyId) {
      const { key } = await orUnavailable(
        callUnary<{ keyId: string }, ReadKeyResponse__Output>(
          (request, options, callback) => client.readKey(request, options, callback),
          { keyId },
          { timeoutMs },
        ),
      )
      return key
    },
    async readGeneration(keyId, reservationId) {
      return await orUnavailable(
        callUnary<{ keyId: string; reservationId: string }, ReadGenerationResponse__Output>(
          (request, options, callback) => client.readGeneration(request, options, callback),
          { keyId, reservationId },
          { timeoutMs },
        ),
      )
    },
    async listGenerations(keyId, page) {
      return await orUnavailable(
        callUnary<{ keyId: string; limit: number; cursor: string }, ListGenerationsResponse__Output>(
          (request, options, callback) => client.listGenerations(request, options, callback),
          { keyId, ...page },
          { timeoutMs },
        ),
      )
    },
    async readActivity(keyId, days) {
      return await orUnavailable(
        callUnary<{ keyId: string; from: string; to: string }, ReadActivityResponse__Output>(
          (request, options, callback) => client.readActivity(request, options, callback),
          { keyId, ...days },
          { timeoutMs },
        ),
      )
    },
  }
}

async function orUnavailable<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer
  } catch (error) {
    if (isServiceError(error) && error.code === status.INVALID_ARGUMENT) throw new RangeError(error.details)
    throw new BillingUnavailable('a read was not answered', { cause: error })
  }
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error
}
