/**
 * What a worker must be able to do to run a generation. `features` are single words (`chat`, `embedding`, `continue` …): a
 * worker that does not know a word never gets the generation. `window`: the context window, in tokens, that it needs at
 * least; 0: any.
 */
export type Needs = { readonly features: readonly string[]; readonly window: number }

/** What a worker can do: the features that it knows, and its engine's context window in tokens. */
export type Serves = { readonly features: readonly string[]; readonly window: number }

/** Generations with equal text wait in one sorted set. */
export function encodeNeeds({ features, window }: Needs): string {
  const words = [...new Set(features)].toSorted()
  return (window === 0 ? words : [...words, `window:${toWindowClass(window)}`]).join(' ')
}

/**
 * Rounds up to an eighth of a power of two: so there are few sets, and the windows that engines have (32,768, 40,960)
 * are classes of their own. With powers of two alone, a generation of 36,000 tokens would never reach an engine of 40,960.
 */
function toWindowClass(tokens: number): number {
  const step = 2 ** Math.max(0, Math.floor(Math.log2(tokens)) - 3)
  return Math.ceil(tokens / step) * step
}
