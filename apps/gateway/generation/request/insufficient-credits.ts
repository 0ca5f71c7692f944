import { ApiError } from '#libs/contracts/api-error.ts'
import type { KeyShortage } from '#libs/billing-client/billing-calls.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { formatCredits } from '#libs/money/nano-credits.ts'
import type { Caller } from '../../callers/caller.ts'
import { RETRY_AFTER_S } from '../../retry-after.ts'

/** Returns the refusal of a request that the account or the key cannot pay, with the available and held amounts. */
export function insufficientCredits({ of, availableNano, heldNano }: KeyShortage): ApiError {
  const [available, held] = [formatCredits(availableNano), formatCredits(heldNano)]
  const message =
    of === 'account'
      ? `Not enough credits for this request: ${available} available, ${held} held by running requests.`
      : `The spend limit of this API key leaves too little for this request: ${available} of its period are left, ` +
        `${held} are held by running requests.`
  return new ApiError('insufficient_credits', message)
}

/**
 * Throws an `ApiError` for a caller who can pay for none of `models`: `insufficient_credits`, or `model_unavailable` if
 * the shortage is not confirmed (`Caller.shortage`). So no work is done for the request: it takes no thread, waits in
 * no queue, and does not count as demand. A caller who can pay for one token passes; then the reservation decides.
 */
export function refuseShortage({ shortage }: Pick<Caller, 'shortage'>, models: readonly ModelSpec[]): void {
  if (shortage === null || models.some(isFree)) return
  if (shortage !== 'unconfirmed') throw insufficientCredits(shortage)
  throw new ApiError('model_unavailable', 'The credits of this API key cannot be checked at the moment.', {
    retryAfterS: RETRY_AFTER_S.dependencyDown,
  })
}

const isFree = ({ kind, inputPriceNano, outputPriceNano }: ModelSpec) =>
  BigInt(inputPriceNano) === 0n && (kind === 'embedding' || BigInt(outputPriceNano) === 0n)
