/** Waits for its turn; the returned function gives the room back, and may be called more than once. */
export type Pace = (model: string, tokens: number) => Promise<() => void>

/** Tokens that may be prefilled again at once, by one gateway, for one model. */
const MOST_TOKENS = 32_768

/**
 * The rate at which interrupted generations are dispatched again. Each of them is prefilled anew with all of its
 * output, so a lost worker of 256 long streams is a million tokens of prefill, and every stream on the workers that
 * take them over would stand still. So at most `mostTokens` are under way at once, one generation in any case; the
 * next goes when one of them has produced a token again. First come, first served.
 */
export function createPace(mostTokens = MOST_TOKENS): Pace {
  const models = new Map<string, { tokens: number; waiting: { tokens: number; go: () => void }[] }>()

  return async (model, tokens) => {
    const state = models.get(model) ?? { tokens: 0, waiting: [] }
    models.set(model, state)
    const fits = (more: number) => state.tokens === 0 || state.tokens + more <= mostTokens
    if (state.waiting.length > 0 || !fits(tokens)) {
      const { promise, resolve } = Promise.withResolvers<void>()
      state.waiting.push({ tokens, go: resolve })
      await promise
    } else state.tokens += tokens

    let isUnderWay = true
    return () => {
      if (!isUnderWay) return
      isUnderWay = false
      state.tokens -= tokens
      for (let next = state.waiting[0]; next !== undefined && fits(next.tokens); next = state.waiting[0]) {
        state.waiting.shift()
        state.tokens += next.tokens
        next.go()
      }
      if (state.tokens === 0 && state.waiting.length === 0) models.delete(model)
    }
  }
}
