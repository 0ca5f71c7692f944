/**
 * The abilities that a generation needs of its worker. `features` are single words (`chat`, `embedding`, `continue` …).
 * A worker that does not know one of these words never gets the generation. `window`: the least context window in
 * tokens; 0 means any.
 */
export type Requirements = { readonly features: readonly string[]; readonly window: number }

/** The abilities of a worker: the features that it knows, and its engine's context window in tokens. */
export type Serves = { readonly features: readonly string[]; readonly window: number }

/**
 * The feature that a generation with a long prompt needs. A worker whose engine computes many tokens of long prompts claims
 * without it.
 */
export const LONG = 'long'
/** A prompt is long if the engine has to compute more than this many tokens. */
export const LONG_TOKENS = 2_048

/** Returns the requirements as text. Generations with equal text wait in one sorted set. */
export function encodeRequirements({ features, window }: Requirements): string {
  const words = [...new Set(features)].toSorted()
  return (window === 0 ? words : [...words, `window:${toWindowClass(window)}`]).join(' ')
}

/**
 * Rounds `tokens` up to a multiple of p ÷ 8, where p is the largest power of two that is not above `tokens`. So there
 * are few sorted sets of waiting generations (`waitingKey`), and the context windows of real engines (32,768 and
 * 40,960) are not rounded. With powers of two alone, a generation of 36,000 tokens would never reach an engine with
 * 40,960.
 */
function toWindowClass(tokens: number): number {
  const step = 2 ** Math.max(0, Math.floor(Math.log2(tokens)) - 3)
  return Math.ceil(tokens / step) * step
}
