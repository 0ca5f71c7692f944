import { z } from 'zod'
import { MAX_TOP_LOGPROBS } from '#libs/contracts/generation-request.ts'
import type { PromptLogprob, TokenLogprob } from '#libs/contracts/generation-event.ts'

/**
 * The log probabilities of a choice: four lists with one entry for each output token. With `echo`, the entries of the
 * prompt's tokens come first.
 */
export const CompletionLogprobs = z.object({
  text_offset: z.array(z.int().min(0)).meta({
    description: 'Where each token begins in the text, in characters.',
  }),
  token_logprobs: z.array(z.number().nullable()).meta({
    description:
      'The natural logarithm of each token’s probability, at least -9999. Null for the first token of a prompt.',
  }),
  tokens: z.array(z.string()).meta({
    description:
      'The token that ends the output is included. Empty for the beginning of a character that a later token completes.',
  }),
  top_logprobs: z.array(z.record(z.string(), z.number()).nullable()).meta({
    description:
      'The most probable tokens, and the token itself if it is not one of them. Null for the first token of a prompt.',
  }),
})
type CompletionLogprobs = z.infer<typeof CompletionLogprobs>

/**
 * Returns how many tokens the engine must list for `count` tokens of the legacy interface. The engine's list begins
 * with the output token, which here comes in addition if it is not one of the most probable tokens. At the engine's
 * limit the list has one token less then.
 */
export const toTopLogprobs = (count: number) => Math.min(MAX_TOP_LOGPROBS, count + 1)

/** Returns the legacy interface's object of log probabilities. `offset` is where the first token begins. */
export function toCompletionLogprobs(
  tokens: readonly (TokenLogprob | PromptLogprob)[],
  { count, offset }: { readonly count: number; readonly offset: number },
): CompletionLogprobs {
  let next = offset
  return {
    text_offset: tokens.map(({ token }) => {
      const start = next
      next += countCharacters(token)
      return start
    }),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    tokens: tokens.map(({ token }) => token),
    top_logprobs: tokens.map((token) => toTop(token, count)),
  }
}

/** Counts Unicode characters, as Python does. */
export const countCharacters = (text: string) => Array.from(text).length

function toTop({ logprob, top }: TokenLogprob | PromptLogprob, count: number): Record<string, number> | null {
  if (logprob === null) return null
  const last = top.at(-1)
  // An output token that is at least as probable as the last token of the list is one of the `count` most probable.
  const isAmongTop = last !== undefined && logprob >= last.logprob
  const listed = isAmongTop ? top.slice(0, Math.max(1, count)) : top
  return Object.fromEntries(listed.map((one) => [one.token, one.logprob]))
}
