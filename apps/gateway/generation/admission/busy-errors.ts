import { ApiError } from '#libs/contracts/api-error.ts'
import { isStarting } from '#libs/contracts/model-state.ts'
import type { ModelScale } from '#libs/event-bus/scaling-signals.ts'
import { RETRY_AFTER_S } from '../../retry-after.ts'
import type { Interruption } from '../request/interrupted.ts'

/**
 * Returns the refusal for a model without a ready worker. It is `model_warming` if a scaler starts a worker or is about
 * to start one, because then waiting helps. In all other cases it is `model_unavailable`, because a worker may come at
 * any time or never: no GPU was found for ten minutes, the model is allowed no worker, or no scaler runs.
 */
export function unserved(
  model: string,
  { state, random, cause }: { state: ModelScale | null; random: () => number; cause?: Interruption },
): ApiError {
  if (state === null || !isStarting(state.state)) return unavailable(model, cause)
  const { etaMs } = state
  const retryAfterS =
    etaMs === null ? RETRY_AFTER_S.startUnknown : (etaMs * (1 + random() * START_SPREAD)) / 1_000
  const when =
    etaMs === null ? '' : ` A worker is expected in about ${Math.max(1, Math.ceil(etaMs / 1_000))} s.`
  return new ApiError('model_warming', `The model '${model}' is starting.${when} Please try again later.`, {
    retryAfterS,
    cause,
  })
}

/**
 * The retry-after is the time until the worker's start, plus a random part of at most this share of that time. So
 * clients that are refused together return at different times.
 */
const START_SPREAD = 0.2

export function unavailable(model: string, cause?: Interruption): ApiError {
  return new ApiError('model_unavailable', `The model '${model}' is not available right now.`, { cause })
}

export const FIXED_STATES = {
  busy: (model: string) => busy(model, RETRY_AFTER_S.fixedBusy),
  warming: (model: string) =>
    new ApiError('model_warming', `The model '${model}' is starting. Please try again later.`, {
      retryAfterS: RETRY_AFTER_S.fixedWarming,
    }),
}

export function busy(model: string, retryAfterS: number, cause?: Interruption): ApiError {
  const message = `The model '${model}' is busy. Please try again later.`
  return new ApiError('model_busy', message, { retryAfterS, cause })
}

export function compiling(model: string): ApiError {
  const message = `Too many new schemas of this account are being compiled for the model '${model}'. Please try again later.`
  return new ApiError('model_busy', message, { retryAfterS: RETRY_AFTER_S.newGrammars })
}

/**
 * Returns the retry-after in seconds: the wait plus a random part, so that clients which are refused together return at
 * different times. The random part is at most a tenth of the wait. It is also so small that the retry-after, rounded up
 * to a whole second, is at most a fifth longer than the wait. Short waits have no random part: rounding alone spreads
 * clients that were refused at different times over a second.
 */
export function spreadRetry(waitMs: number, random: () => number): number {
  const mostMs = Math.min(0.1 * waitMs, Math.max(0, 0.2 * waitMs - 1_000))
  return (waitMs + random() * mostMs) / 1_000
}
