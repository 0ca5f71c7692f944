import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationJob, Hold } from '#libs/contracts/generation-job.ts'
import type { HoldAnswer } from '#libs/billing-client/billing-calls.ts'
import type { BillingClient } from '#libs/billing-client/billing-client.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import type { Caller } from '../callers/caller.ts'
import { RETRY_AFTER_S } from '../retry-after.ts'
import type { InputEstimate } from './estimate-input.ts'
import type { GenerationCall } from './generation-call.ts'
import { insufficientCredits } from './insufficient-credits.ts'
import { orUnavailable } from './or-unavailable.ts'

/**
 * Both functions throw an `ApiError`: `insufficient_credits`, `invalid_key`, `model_busy` (the key's own rate), or
 * `model_unavailable` when billing does not answer.
 */
export type Reserve = {
  /** Sets credits aside for the estimated input and the wanted output, until `deadlineMs` of the monotonic clock. */
  estimated(call: GenerationCall, wanted: { outputTokens: number; deadlineMs: number }): Promise<Hold>
  /** Replaces the hold by a hold for `promptTokens`, the input tokens that a worker has counted. */
  exact(job: GenerationJob, promptTokens: number): Promise<Hold>
}

/** Releases the hold of a reservation that may have been made. */
export type ReleaseHold = (reservationId: string) => void

export function createReserve(deps: {
  billing: Pick<BillingClient, 'reserve' | 'replace'>
  inputEstimate: Pick<InputEstimate, 'estimate'>
  releaseHold: ReleaseHold
  /** Converts a time of the monotonic clock to the queue Redis' clock. */
  toQueueMs: (ownMs: number) => number
  /** Called when the caller cannot pay for this request, and so perhaps for no request at all. */
  onShortage: (caller: Caller) => void
}): Reserve {
  const { billing, inputEstimate, releaseHold, toQueueMs, onShortage } = deps
  return {
    async estimated({ id, caller, model, request, size }, { outputTokens, deadlineMs }) {
      // Bounded by the context window, because an estimate that is too high must not refuse a request that fits.
      const mostInput =
        request.kind === 'embedding'
          ? request.inputs.length * model.contextWindow
          : Math.max(1, model.contextWindow - outputTokens)
      const inputTokens = inputEstimate.estimate(model.id, size) + size.grammarTokens
      const answer = billing.reserve({
        reservationId: id,
        keyId: caller.keyId,
        model: model.id,
        inputTokens: Math.min(inputTokens, mostInput),
        outputTokens,
        deadlineMs: toQueueMs(deadlineMs),
      })
      try {
        const held = await orUnavailable(answer, NO_BILLED_REQUESTS)
        if (held.status === 'insufficient-credits' || held.status === 'key-limit') onShortage(caller)
        return toHold(held)
      } catch (error) {
        if (mayHaveReserved(error)) releaseHold(id)
        throw error
      }
    },
    async exact(job, promptTokens) {
      const outputTokens = Math.min(job.maxOutputTokens, Math.max(1, job.contextWindow - promptTokens))
      const answer = billing.replace({ reservationId: job.id, inputTokens: promptTokens, outputTokens })
      return toHold(await orUnavailable(answer, NO_BILLED_REQUESTS))
    },
  }
}

const NO_BILLED_REQUESTS = 'The service cannot take billed requests right now.'

function mayHaveReserved(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.code !== 'model_unavailable') return false
  return !(error.cause instanceof BillingUnavailable && error.cause.nothingDone)
}

function toHold(answer: HoldAnswer): Hold {
  switch (answer.status) {
    case 'granted':
      return {
        amountNano: String(answer.amountNano),
        inputPriceNano: String(answer.prices.inputPriceNano),
        outputPriceNano: String(answer.prices.outputPriceNano),
        cachedInputPriceNano: String(answer.prices.cachedInputPriceNano),
        clamped: answer.clamped,
        receipt: answer.receipt,
      }
    case 'insufficient-credits':
      throw insufficientCredits({ ...answer, of: 'account' })
    case 'key-limit':
      throw insufficientCredits({ ...answer, of: 'key-limit' })
    case 'key-rate':
      throw new ApiError('model_busy', 'This API key has used up its rate for this minute.', {
        retryAfterS: answer.retryAfterS,
      })
    case 'key-invalid':
      throw new ApiError('invalid_key', 'The API key is no longer valid.')
    case 'model-unknown':
      throw new ApiError('model_unavailable', 'The model is being changed. Please try again.', {
        retryAfterS: RETRY_AFTER_S.catalogChange,
      })
    case 'conflict':
      throw new ApiError('model_unavailable', 'The hold of this request is gone. Please try again.', {
        retryAfterS: RETRY_AFTER_S.holdGone,
      })
  }
}
