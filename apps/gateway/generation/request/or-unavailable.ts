import { ApiError } from '#libs/contracts/api-error.ts'
import { RETRY_AFTER_S } from '../../retry-after.ts'

/**
 * Awaits an answer of billing or the queue Redis. A failure becomes an `ApiError` `model_unavailable`, with `message`
 * as its public message and the retry-after of a dependency that is down. A failure that is an ApiError already is
 * rethrown unchanged.
 */
export async function orUnavailable<Answer>(answer: Promise<Answer>, message: string): Promise<Answer> {
  try {
    return await answer
  } catch (cause) {
    if (cause instanceof ApiError) throw cause
    throw new ApiError('model_unavailable', message, { retryAfterS: RETRY_AFTER_S.dependencyDown, cause })
  }
}

/** The message while the queue Redis does not answer. */
export const NO_NEW_WORK = 'The service cannot take new work right now.'

/** The message of refusals while this gateway cannot keep more uncommitted settlements in memory. */
export const UNCHARGED_WORK =
  'The service cannot take new work right now: too much finished work is not charged yet.'
