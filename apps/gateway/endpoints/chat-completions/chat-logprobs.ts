import { z } from 'zod'
import type { Logprob, TokenLogprob } from '#libs/contracts/generation-event.ts'

const ChatLogprob = z.object({
  token: z.string().meta({
    description: 'Empty for the beginning of a character that a later token completes.',
  }),
  logprob: z.number().meta({ description: 'The natural logarithm of the probability, at least -9999.' }),
  bytes: z.array(z.int().min(0).max(255)).meta({ description: 'The bytes of token in UTF-8.' }),
})

/** The log probabilities of a choice. */
export const ChatLogprobs = z.object({
  content: z
    .array(
      ChatLogprob.extend({
        top_logprobs: z.array(ChatLogprob).meta({
          description:
            'The token of the output, then the most probable other tokens: top_logprobs tokens together.',
        }),
      }),
    )
    .meta({
      description: 'One entry for each output token, those of reasoning, calls and the end included.',
    }),
})
type ChatLogprobs = z.infer<typeof ChatLogprobs>

/** Returns the chat interface's object of log probabilities. */
export function toChatLogprobs(tokens: readonly TokenLogprob[]): ChatLogprobs {
  return { content: tokens.map(({ top, ...own }) => ({ ...toEntry(own), top_logprobs: top.map(toEntry) })) }
}

const toEntry = ({ token, logprob }: Logprob) => ({ token, logprob, bytes: Array.from(Buffer.from(token)) })
