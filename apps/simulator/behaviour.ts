import { z } from 'zod'

/**
 * The way in which an engine answers every call. All behaviours except `persona` and `waits` are for models against
 * which people test their clients. These behaviours ignore tools, constraints, logit biases and directives in the
 * prompt. Limits and stop strings still end their answers.
 */
export const Behaviour = z.discriminatedUnion('type', [
  /** The answer depends on the conversation: see persona/. */
  z.strictObject({ type: z.literal('persona') }),
  /**
   * The persona answers, and the first token of each call is delayed by `firstTokenMs`, as if the call waited in a
   * queue. Calls do not delay each other.
   */
  z.strictObject({ type: z.literal('waits'), firstTokenMs: z.int().positive().max(600_000) }),
  /** Writes exactly this many tokens, including the end token. */
  z.strictObject({ type: z.literal('writes'), tokens: z.int().min(2).max(1_000_000) }),
  /**
   * Fails each call after one token, which is an incomplete character. So a token was computed, but there is no text.
   */
  z.strictObject({ type: z.literal('fails-before-text') }),
  /** Fails each call after some words. */
  z.strictObject({ type: z.literal('fails-in-text') }),
])
export type Behaviour = z.infer<typeof Behaviour>
