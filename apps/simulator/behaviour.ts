import { z } from 'zod'

/**
 * What an engine does every time, whatever it is asked: for models that let people test their clients. Tools,
 * constraints, logit biases and orders in the prompt change nothing; limits and stop strings end an answer as ever.
 */
export const Behaviour = z.discriminatedUnion('type', [
  /** Answers what it is asked: see persona/. */
  z.strictObject({ type: z.literal('persona') }),
  /** The persona, each first token so much later, as behind a queue; others are not held up. */
  z.strictObject({ type: z.literal('waits'), firstTokenMs: z.int().positive().max(600_000) }),
  /** Writes exactly so many tokens, the end token counted. */
  z.strictObject({ type: z.literal('writes'), tokens: z.int().min(2).max(1_000_000) }),
  /** Fails each call after a token that holds no whole character: something was computed, nothing can be shown. */
  z.strictObject({ type: z.literal('fails-before-text') }),
  /** Fails each call after some words. */
  z.strictObject({ type: z.literal('fails-in-text') }),
])
export type Behaviour = z.infer<typeof Behaviour>
