import { z } from 'zod'
import type { Logprob, TokenLogprob } from '#libs/contracts/generation-event.ts'

const ListedToken = z.object({
  token: z.string().meta({
    description: 'Empty for the beginning of a character that a later token completes.',
  }),
  logprob: z.number().meta({ description: 'The natural logarithm of the probability, at least -9999.' }),
  bytes: z.array(z.int().min(0).max(255)).meta({ description: 'The bytes of token in UTF-8.' }),
})

/** The log probability of one output token, in the shape that chat completions and Responses share. */
export const LogprobEntry = ListedToken.extend({
  top_logprobs: z.array(ListedToken).meta({
    description:
      'The token of the output, then the most probable other tokens: top_logprobs tokens together.',
  }),
})
export type LogprobEntry = z.infer<typeof LogprobEntry>

/** Returns one entry for each token. */
export function toLogprobEntries(tokens: readonly TokenLogprob[]): LogprobEntry[] {
  return tokens.map(({ top, ...own }) => ({ ...toListed(own), top_logprobs: top.map(toListed) }))
}

const toListed = ({ token, logprob }: Logprob) => ({ token, logprob, bytes: Array.from(Buffer.from(token)) })
