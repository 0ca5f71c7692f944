import { z } from 'zod'
import { MAX_TOP_LOGPROBS } from '#libs/contracts/generation-request.ts'

export const TOP_LOGPROBS = `expected a whole number from 0 to ${MAX_TOP_LOGPROBS}`

/** How many of the most probable tokens are listed for each output token. */
export const TopLogprobs = z.int(TOP_LOGPROBS).min(0, TOP_LOGPROBS).max(MAX_TOP_LOGPROBS, TOP_LOGPROBS)
