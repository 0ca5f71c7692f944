import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import { MAX_TOP_LOGPROBS } from '#libs/contracts/generation-request.ts'

export const TOP_LOGPROBS = `expected a whole number from 0 to ${MAX_TOP_LOGPROBS}`

/** How many of the most probable tokens are listed for each output token. */
export const TopLogprobs = z.int(TOP_LOGPROBS).min(0, TOP_LOGPROBS).max(MAX_TOP_LOGPROBS, TOP_LOGPROBS)

/**
 * The most tokens that the answers to one request may list with their log probabilities if the gateway keeps the whole
 * list until the last answer ends: output tokens and alternatives together. The list takes about 120 bytes a token, and
 * is written as JSON in one step. With this limit the list needs about 1 MB, and writing it takes a few milliseconds. The
 * end of a stream of Responses repeats the list four times, about 4 MB.
 */
export const MOST_LISTED = 8_192

/**
 * Returns the most output tokens that each answer may have. With this limit, answers whose list is kept list at most
 * `MOST_LISTED` tokens together. Returns Infinity if the list is not kept, or if the request asks for no log
 * probabilities (`topLogprobs` is absent). The list is kept if the request is not streamed, or if the end of its stream
 * repeats the list (`endsWithList`). Throws an `ApiError` `invalid_request` that names `param` if the caller's own
 * limit (`given`, null if there is none) is higher.
 */
export function toMostListed(
  given: number | null,
  request: {
    readonly topLogprobs?: number | undefined
    readonly stream?: boolean | undefined
    readonly endsWithList?: boolean
    /** How many answers the request wants. Absent: one. */
    readonly choices?: number
    readonly param: string
  },
): number {
  const { topLogprobs, stream = false, endsWithList = false, choices = 1, param } = request
  if (topLogprobs === undefined || (stream && !endsWithList)) return Infinity
  const most = Math.floor(MOST_LISTED / choices / (1 + topLogprobs))
  if (given === null || given <= most) return most
  const answer = choices === 1 ? 'an answer' : `each of ${choices} answers`
  const limit = `${answer} with these log probabilities has at most ${most} tokens`
  const unless = endsWithList ? '' : ' unless it is streamed'
  throw new ApiError('invalid_request', `'${param}': ${limit}${unless}.`, { param })
}
