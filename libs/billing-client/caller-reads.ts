import { callUnary } from '#libs/grpc/call-unary.ts'
import type { BillingClient as GrpcClient } from '#proto/types/millrace/billing/Billing.ts'
import type { KeyState__Output } from '#proto/types/millrace/billing/KeyState.ts'
import type { ListGenerationsResponse__Output } from '#proto/types/millrace/billing/ListGenerationsResponse.ts'
import type { ReadActivityResponse__Output } from '#proto/types/millrace/billing/ReadActivityResponse.ts'
import type { ReadGenerationResponse__Output } from '#proto/types/millrace/billing/ReadGenerationResponse.ts'
import type { ReadKeyResponse__Output } from '#proto/types/millrace/billing/ReadKeyResponse.ts'
import { rethrowForCallers } from './rethrow-for-callers.ts'

/** The key that reads: an API key reads itself and its own requests, a management key reads its whole account. */
export type Reader = { readonly keyId: string } | { readonly managementKeyId: string }

/**
 * A caller's reads, as messages of `proto/billing.proto`. Amounts are nano-credits as text. Each function rejects as
 * `rethrowForCallers` does.
 */
export type CallerReads = {
  /** Returns null if there is no such API key. */
  readKey(reader: Reader): Promise<KeyState__Output | null>
  readGeneration(reader: Reader, reservationId: string): Promise<ReadGenerationResponse__Output>
  /** `cursor` comes from the page before; it is empty for the first page. */
  listGenerations(
    reader: Reader,
    page: { limit: number; cursor: string },
  ): Promise<ListGenerationsResponse__Output>
  /** Days as YYYY-MM-DD, both included. */
  readActivity(reader: Reader, days: { from: string; to: string }): Promise<ReadActivityResponse__Output>
}

export function createCallerReads(client: GrpcClient, timeoutMs: number): CallerReads {
  return {
    async readKey(reader) {
      const { key } = await rethrowForCallers(
        callUnary<Reader, ReadKeyResponse__Output>(
          (request, options, callback) => client.readKey(request, options, callback),
          reader,
          { timeoutMs },
        ),
      )
      return key
    },
    async readGeneration(reader, reservationId) {
      return await rethrowForCallers(
        callUnary<Reader & { reservationId: string }, ReadGenerationResponse__Output>(
          (request, options, callback) => client.readGeneration(request, options, callback),
          { ...reader, reservationId },
          { timeoutMs },
        ),
      )
    },
    async listGenerations(reader, page) {
      return await rethrowForCallers(
        callUnary<Reader & { limit: number; cursor: string }, ListGenerationsResponse__Output>(
          (request, options, callback) => client.listGenerations(request, options, callback),
          { ...reader, ...page },
          { timeoutMs },
        ),
      )
    },
    async readActivity(reader, days) {
      return await rethrowForCallers(
        callUnary<Reader & { from: string; to: string }, ReadActivityResponse__Output>(
          (request, options, callback) => client.readActivity(request, options, callback),
          { ...reader, ...days },
          { timeoutMs },
        ),
      )
    },
  }
}
