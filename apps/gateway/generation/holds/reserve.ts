import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationJob, Hold } from '#libs/contracts/generation-job.ts'
import type { HoldAnswer } from '#libs/billing-client/billing-calls.ts'
import type { BillingClient } from '#libs/billing-client/billing-client.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { affordableOutput } from '#libs/money/price.ts'
import type { Caller } from '../../callers/caller.ts'
import { RETRY_AFTER_S } from '../../retry-after.ts'
import type { CreditLine, LineNotes, Waited } from './credit-line.ts'
import type { InputEstimate } from '../estimates/estimate-input.ts'
import type { ExpectedOutput } from '../estimates/expected-output.ts'
import type { GenerationCall } from '../request/generation-call.ts'
import { insufficientCredits } from '../request/insufficient-credits.ts'
import { orUnavailable } from '../request/or-unavailable.ts'
import type { RunningHolds } from './running-holds.ts'

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
  /** Replaces the hold of the request by a hold for the input tokens that a worker has counted. */
  exact(job: GenerationJob, promptTokens: number): Promise<Hold>
}

/** Releases the hold of a reservation that may have been made. */
export type ReleaseHold = (reservationId: string) => void

export function createReserve(deps: {
  billing: Pick<BillingClient, 'reserve' | 'resize'>
  inputEstimate: Pick<InputEstimate, 'estimate'>
  expectedOutput: Pick<ExpectedOutput, 'expect'>
  creditLine: Omit<CreditLine<Shortage>, 'stop'>
  runningHolds: Pick<RunningHolds, 'comingBack'>
  releaseHold: ReleaseHold
  /** Converts a time of the monotonic clock to the queue Redis' clock. */
  toQueueMs: (ownMs: number) => number
  /** Called when the caller cannot pay for this request. Perhaps the caller can pay for no request at all. */
  onShortage: (caller: Caller) => void
  /** A clock that never goes back. */
  nowMs: () => number
}): Reserve {
  const { billing, inputEstimate, expectedOutput, creditLine, runningHolds } = deps
  const { releaseHold, toQueueMs, onShortage, nowMs } = deps

  /**
   * Asks billing for a hold for the `likely` output. If billing refuses because credits are missing, there are two
   * cases:
   * - No request holds credits, so there is nothing to wait for. Then the function accepts a hold for as much output as
   *   the credits pay for.
   * - Other requests hold the missing credits. Then the function waits for these credits (`askInTurn`).
   */
  async function askPatiently(call: GenerationCall, wanted: Wanted, ask: Ask): Promise<HoldAnswer> {
    const { keyId, accountId } = call.caller
    let name = creditLine.open(keyId, accountId)
    let refused: Shortage | null = null
    if (name === null) {
      let answer = await ask(wanted.expected().likely)
      const { few } = wanted.expected()
      if (isShortage(answer) && answer.heldNano === 0n && wanted.pays(answer.availableNano, few)) {
        answer = await ask(few)
      }
      if (!isShortage(answer) || answer.heldNano === 0n) return answer
      refused = answer
      name = answer.status === 'key-limit' ? keyId : accountId
    }
    const wait = {
      signal: call.signal,
      mostMs: wanted.deadlineMs - nowMs(),
      bytes: call.size.bytes,
      refused,
    }
    const waited = await creditLine.wait({ accountId, name }, wait, async (notes, progress) => {
      return await askInTurn(call, wanted, { ask, notes, ...progress })
    })
    return waited ?? (await ask(wanted.expected().likely))
  }

  /** Asks billing if the latest refusal of the line leaves hope, and returns null if the request should wait on. */
  async function askInTurn(call: GenerationCall, wanted: Wanted, turn: Turn): Promise<HoldAnswer | null> {
    const { ask, notes, isOver } = turn
    let refused = notes.latest()
    let least = refused === null ? accepted() : decide(refused)
    // If billing has refused this number already, the credits are not what they seemed.
    for (let asked = Infinity; typeof least === 'number' && least < asked; least = decide(refused)) {
      const answer = await ask(least)
      notes.note(isShortage(answer) ? answer : null)
      if (!isShortage(answer)) return answer
      refused = answer
      asked = least
    }
    return least === 'refuse' || isOver ? refused : null

    /** Returns the least output that the request accepts while other requests hold credits. */
    function accepted(): number {
      const { likely, usual } = wanted.expected()
      return turn.waitedMs < PATIENT_MS && !isOver ? likely : usual
    }

    /**
     * Returns the least output for which billing is asked at once, or whether the request waits or is refused:
     * - While credits may come back, the request waits for the likely output, after `PATIENT_MS` for the usual one. It
     *   accepts no less: a cut answer helps the caller less than a 402, after which the caller can try again.
     * - If no other request holds credits, no more will come back. Then whatever pays for what the account's answers
     *   usually need is enough.
     */
    function decide({ status, availableNano, heldNano }: Shortage): number | 'wait' | 'refuse' {
      const { usual, ownUsual, few } = wanted.expected()
      const alone = wanted.pays(availableNano, ownUsual) ? few : 'refuse'
      if (heldNano === 0n) return alone
      const least = accepted()
      if (wanted.pays(availableNano, least)) return least
      const of = status === 'key-limit' ? 'key' : 'account'
      const back = runningHolds.comingBack(call.caller, { of, heldNano, withinMs: turn.leftMs })
      if (!isOver && wanted.pays(availableNano + back, ownUsual)) return 'wait'
      return wanted.pays(availableNano, usual) ? usual : 'refuse'
    }
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
      const expected = () => {
        const { likely, usual, ownUsual } = expectedOutput.expect(model.id, caller.accountId)
        const ofAll = (tokens: number) => choices * Math.min(outputTokens, tokens)
        const few = Math.min(choices, ofAll(likely))
        const atLeast = (tokens: number) => Math.max(few, ofAll(Math.min(likely, tokens)))
        return { likely: ofAll(likely), usual: atLeast(usual), ownUsual: atLeast(ownUsual), few }
      }
      const ask = async (leastTokens: number) => {
        const answer = billing.reserve({
          reservationId: id,
          keyId: caller.keyId,
          model: model.id,
          inputTokens,
          outputTokens: choices * outputTokens,
          deadlineMs: toQueueMs(deadlineMs),
          ...(choices > 1 && { choices }),
          ...(outputTokens > 0 && { rolling: { expectedTokens: expected().likely, leastTokens } }),
        })
        return await orUnavailable(answer, NO_BILLED_REQUESTS)
      }
      const pays = (credits: bigint, tokens: number) => paysTokens(credits, model, { inputTokens, tokens })
      try {
        const held = await askPatiently(call, { expected, pays, deadlineMs }, ask)
        if (isShortage(held)) onShortage(caller)
        return toHold(held)
      } catch (error) {
        if (mayHaveReserved(error)) releaseHold(id)
        throw error
      }
    },
    async exact({ id, choices = 1, maxOutputTokens, contextWindow, hold }, promptTokens) {
      // The old hold may pay for less output than is wanted. The new hold pays for the same output. Like the old hold,
      // it can grow later.
      const most = Math.min(choices * maxOutputTokens, hold.outputTokens)
      const answer = billing.resize({
        reservationId: id,
        inputTokens: promptTokens,
        outputTokens: Math.min(most, choices * Math.max(1, contextWindow - promptTokens)),
        ...(choices > 1 && { choices }),
      })
      return toHold(await orUnavailable(answer, NO_BILLED_REQUESTS))
    },
  }
}

/** How long a request waits for the likely output before it accepts a hold for the usual output. */
const PATIENT_MS = 3_000

/** The output that a request wants, of all choices and within the caller's limit. */
type Wanted = {
  /** Returns the numbers of tokens that are expected by now. `few` is one token of each choice. */
  expected(): Readonly<Record<'likely' | 'usual' | 'ownUsual' | 'few', number>>
  /** True if these credits pay for the estimated input and this output. */
  pays(credits: bigint, tokens: number): boolean
  readonly deadlineMs: number
}

type Turn = Waited & { readonly ask: Ask; readonly notes: LineNotes<Shortage> }

type Ask = (leastTokens: number) => Promise<HoldAnswer>

export type Shortage = Extract<HoldAnswer, { readonly status: 'insufficient-credits' | 'key-limit' }>

const isShortage = (answer: HoldAnswer): answer is Shortage =>
  answer.status === 'insufficient-credits' || answer.status === 'key-limit'

function paysTokens(
  credits: bigint,
  { inputPriceNano, outputPriceNano }: ModelSpec,
  { inputTokens: input, tokens: limit }: { inputTokens: number; tokens: number },
): boolean {
  const prices = { inputPriceNano: BigInt(inputPriceNano), outputPriceNano: BigInt(outputPriceNano) }
  return affordableOutput(toNanoCredits(credits), prices, { input, limit }) === limit
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
