import { ApiError } from '#libs/contracts/api-error.ts'
import { RETRY_AFTER_S } from '../retry-after.ts'

/**
 * Awaits what billing or the queue Redis answers. Its failure becomes `model_unavailable` with this public message,
 * with the retry-after of a dependency that is down; an ApiError stays as it is.
 */
export async function orUnavailable<Answer>(answer: Promise<Answer>, message: string): Promise<Answer> {
  try {
    return await answer
  } catch (cause) {
    if (cause instanceof ApiError) throw cause
    throw new ApiError('model_unavailable', message, { retryAfterS: RETRY_AFTER_S.dependencyDown, cause })
  }
}

/** The queue Redis does not answer. */
export const NO_NEW_WORK = 'The service cannot take new work right now.'

/** As many settlements as may be are in memory and not committed. */
export const UNCHARGED_WORK =
  'The service cannot take new work right now: too much finished work is not charged yet.'
