import { z } from 'zod'
import { MAX_TOP_LOGPROBS } from '#libs/contracts/generation-request.ts'

const EXPECTED = `expected a whole number from 0 to ${MAX_TOP_LOGPROBS}`

/** How many of the most probable tokens are listed for each output token. */
export const TopLogprobs = z.int(EXPECTED).min(0, EXPECTED).max(MAX_TOP_LOGPROBS, EXPECTED)
