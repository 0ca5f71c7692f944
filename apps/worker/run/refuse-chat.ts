import { toOverflowMessage } from '#libs/contracts/context-overflow.ts'
import type { GenerationError } from '#libs/contracts/generation-event.ts'
import type { ChatJob } from '#libs/contracts/generation-job.ts'
import { formatCredits, toNanoCredits } from '#libs/money/nano-credits.ts'

/** The public errors of chats that no worker can run. Nothing is charged for them. */
type Refusal = Omit<GenerationError, 'type'>

export const promptTooLong = ({ contextWindow }: ChatJob, tokens: number): Refusal => ({
  code: 'context_length_exceeded',
  message: toOverflowMessage({ contextWindow, tokens }),
})

/** Returns whether the list of a prompt's log probabilities would be too long. */
export const hasLongList = ({ request: { rawPrompt } }: ChatJob, promptTokens: number) =>
  promptTokens > (rawPrompt?.mostTokens ?? Infinity)

export const promptListTooLong = ({ request: { rawPrompt } }: ChatJob, tokens: number): Refusal => ({
  code: 'invalid_request',
  message:
    `'prompt': a prompt with these log probabilities has at most ${rawPrompt?.mostTokens} tokens; ` +
    `the prompt has ${tokens}.`,
})

/** The account's credits limited the hold, so its amount is all that the account had left. */
export const insufficientCredits = ({ hold, maxOutputTokens }: ChatJob): Refusal => ({
  code: 'insufficient_credits',
  message:
    `Not enough credits for this prompt${maxOutputTokens === 0 ? '' : ' and one token of output'}: ` +
    `${formatCredits(toNanoCredits(hold.amountNano))} available beside what other requests hold.`,
})
