import { ApiError } from '#libs/contracts/api-error.ts'
import { toRequestId } from '#libs/contracts/choices.ts'
import type { GenerationJob, Hold } from '#libs/contracts/generation-job.ts'
import type { HoldAnswer } from '#libs/billing-client/billing-calls.ts'
import type { BillingClient } from '#libs/billing-client/billing-client.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { affordableOutput } from '#libs/money/price.ts'
import type { Caller } from '../callers/caller.ts'
import { RETRY_AFTER_S } from '../retry-after.ts'
import type { CreditLine } from './credit-line.ts'
import type { InputEstimate } from './estimate-input.ts'
import type { Expectation, ExpectedOutput } from './expected-output.ts'
import type { GenerationCall } from './generation-call.ts'
import { insufficientCredits } from './insufficient-credits.ts'
import { orUnavailable } from './or-unavailable.ts'

/**
 * Both functions throw an `ApiError`: `insufficient_credits`, `invalid_key`, `model_busy` if the key exceeds its own
 * rate, or `model_unavailable` if billing does not answer, does not know the model, or no longer has the hold.
 */
export type Reserve = {
  /**
   * Sets credits aside for the estimated input and the wanted output of each choice, until `deadlineMs` of the
   * monotonic clock. If the balance is small, the hold pays only for the output that the answers will probably need. If
   * credits are missing because other running requests hold them, the function waits for these credits.
   */
  estimated(call: GenerationCall, wanted: { outputTokens: number; deadlineMs: number }): Promise<Hold>
  /**
   * Replaces the hold of the request by a hold for the input tokens that a worker has counted. `job` is the job of any
   * of the request's `choices`, with the hold of the whole request.
   */
  exact(job: GenerationJob, counted: { promptTokens: number; choices: number }): Promise<Hold>
}

/** Releases the hold of a reservation that may have been made. */
export type ReleaseHold = (reservationId: string) => void

export function createReserve(deps: {
  billing: Pick<BillingClient, 'reserve' | 'replace'>
  inputEstimate: Pick<InputEstimate, 'estimate'>
  expectedOutput: Pick<ExpectedOutput, 'expect'>
  creditLine: CreditLine
  releaseHold: ReleaseHold
  /** Converts a time of the monotonic clock to the queue Redis' clock. */
  toQueueMs: (ownMs: number) => number
  /** Called when the caller cannot pay for this request. Perhaps the caller can pay for no request at all. */
  onShortage: (caller: Caller) => void
}): Reserve {
  const { billing, inputEstimate, expectedOutput, creditLine, releaseHold, toQueueMs, onShortage } = deps

  /**
   * Asks billing for a hold for the `likely` output. If billing refuses because credits are missing, there are two
   * cases:
   * - No request holds credits, so there is nothing to wait for. Then the function accepts a hold for as much output as
   *   the credits pay for.
   * - Other requests hold the missing credits. Then the function waits for these credits. If the wait does not help, it
   *   accepts a hold for the `usual` output or more. It accepts no smaller hold: a cut answer helps the caller less
   *   than a 402, after which the caller can try again.
   */
  async function askPatiently(
    { caller, model, signal, choices = 1 }: GenerationCall,
    wanted: Wanted,
    ask: Ask,
  ): Promise<HoldAnswer> {
    const { accountId, keyId } = caller
    const { likely, usual } = wanted
    const canPay = (credits: bigint) => paysTokens(credits, model, { ...wanted, choices })
    const mayBeGranted = (answer: HoldAnswer): answer is Shortage =>
      isShortage(answer) && answer.heldNano > 0n && canPay(answer.availableNano + answer.heldNano)

    let line = creditLine.open(keyId, accountId)
    if (line === null) {
      const answer = await ask(likely)
      if (!isShortage(answer)) return answer
      if (answer.heldNano === 0n && canPay(answer.availableNano)) return await ask(choices)
      if (!mayBeGranted(answer)) return answer
      line = answer.status === 'key-limit' ? keyId : accountId
    }
    const waited = await creditLine.wait(line, signal, async () => {
      const answer = await ask(likely)
      return mayBeGranted(answer) ? null : answer
    })
    return waited === null || isShortage(waited) ? await ask(Math.max(choices, usual)) : waited
  }

  return {
    async estimated(call, { outputTokens, deadlineMs }) {
      const { id, caller, model, request, size, choices = 1 } = call
      // The estimate is limited to the context window: an estimate that is too high must not refuse a request that
      // fits.
      const mostInput =
        request.kind === 'embedding'
          ? request.inputs.length * model.contextWindow
          : Math.max(1, model.contextWindow - outputTokens)
      const estimate = inputEstimate.estimate(model.id, size) + size.grammarTokens
      const inputTokens = Math.min(estimate, mostInput)
      const expected = expectedOutput.expect(model.id, caller.accountId)
      const likely = choices * Math.min(outputTokens, expected.likely)
      const usual = Math.min(likely, choices * expected.usual)
      const ask = async (leastTokens: number) => {
        const answer = billing.reserve({
          reservationId: id,
          keyId: caller.keyId,
          model: model.id,
          inputTokens,
          outputTokens: choices * outputTokens,
          deadlineMs: toQueueMs(deadlineMs),
          ...(choices > 1 && { choices }),
          ...(outputTokens > 0 && { rolling: { expectedTokens: likely, leastTokens } }),
        })
        return await orUnavailable(answer, NO_BILLED_REQUESTS)
      }
      try {
        const held = await askPatiently(call, { inputTokens, likely, usual }, ask)
        if (isShortage(held)) onShortage(caller)
        return toHold(held)
      } catch (error) {
        if (mayHaveReserved(error)) releaseHold(id)
        throw error
      }
    },
    async exact({ id, maxOutputTokens, contextWindow, hold }, { promptTokens, choices }) {
      // The old hold may pay for less output than is wanted. The new hold pays for the same output. Like the old hold,
      // it can grow later.
      const most = Math.min(choices * maxOutputTokens, hold.outputTokens)
      const answer = billing.replace({
        reservationId: toRequestId(id),
        inputTokens: promptTokens,
        outputTokens: Math.min(most, choices * Math.max(1, contextWindow - promptTokens)),
        ...(choices > 1 && { choices }),
      })
      return toHold(await orUnavailable(answer, NO_BILLED_REQUESTS))
    },
  }
}

/** The estimated input, and the expected output of all choices within the caller's limit. */
type Wanted = Omit<Expectation, 'mean'> & { readonly inputTokens: number }

type Ask = (leastTokens: number) => Promise<HoldAnswer>

type Shortage = Extract<HoldAnswer, { readonly status: 'insufficient-credits' | 'key-limit' }>

const isShortage = (answer: HoldAnswer): answer is Shortage =>
  answer.status === 'insufficient-credits' || answer.status === 'key-limit'

/** True if these credits pay for the input and, in a chat, for one token of output of each choice. */
function paysTokens(
  credits: bigint,
  { inputPriceNano, outputPriceNano }: ModelSpec,
  wanted: Wanted & { readonly choices: number },
): boolean {
  const prices = { inputPriceNano: BigInt(inputPriceNano), outputPriceNano: BigInt(outputPriceNano) }
  const limit = Math.min(wanted.choices, wanted.likely)
  return affordableOutput(toNanoCredits(credits), prices, { input: wanted.inputTokens, limit }) === limit
}

const NO_BILLED_REQUESTS = 'The service cannot take billed requests right now.'

function mayHaveReserved(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.code !== 'model_unavailable') return false
  return !(error.cause instanceof BillingUnavailable && error.cause.nothingDone)
}

/** Returns the hold of a grant; throws the `ApiError` of any other answer. */
export function toHold(answer: HoldAnswer): Hold {
  switch (answer.status) {
    case 'granted':
      return {
        amountNano: String(answer.amountNano),
        outputTokens: answer.outputTokens,
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
