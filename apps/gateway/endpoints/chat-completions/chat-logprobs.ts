import { z } from 'zod'
import type { TokenLogprob } from '#libs/contracts/generation-event.ts'
import { LogprobEntry, toLogprobEntries } from '../fields/logprob-entries.ts'

/** The log probabilities of a choice. */
export const ChatLogprobs = z.object({
  content: z.array(LogprobEntry).meta({
    description: 'One entry for each output token, those of reasoning, calls and the end included.',
  }),
})
type ChatLogprobs = z.infer<typeof ChatLogprobs>

/** Returns the chat interface's object of log probabilities. */
export function toChatLogprobs(tokens: readonly TokenLogprob[]): ChatLogprobs {
  return { content: toLogprobEntries(tokens) }
}
