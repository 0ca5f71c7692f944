/**
 * Waits until a generation may be dispatched again, or until `over` resolves. `tokens` is the number of tokens that its
 * next worker must prefill. The returned function frees these tokens for other generations. It may be called more than
 * once.
 */
export type ResumeLimiter = (model: string, tokens: number, over: Promise<unknown>) => Promise<() => void>

/** The most tokens that workers prefill again at the same time for one model and one gateway. */
const MOST_TOKENS = 32_768

type Turn = { readonly tokens: number; isUnderWay: boolean; readonly go: () => void }

/**
 * Limits the rate at which interrupted generations are dispatched again. A worker prefills such a generation anew, with
 * all of its output. If a worker with 256 long streams is lost, other workers must prefill a million tokens. Without a
 * limit they would prefill all of them at once, and their own streams would stop meanwhile.
 *
 * A generation is under way from its dispatch until it has produced a token. For each model, the generations under way
 * have at most `mostTokens` tokens together. But if none is under way, the next generation is dispatched, however long
 * it is. The others wait, and are dispatched in the order of their arrival.
 */
export function createResumeLimiter(mostTokens = MOST_TOKENS): ResumeLimiter {
  const models = new Map<string, { tokens: number; waiting: Turn[] }>()

  return async (model, tokens, over) => {
    const state = models.get(model) ?? { tokens: 0, waiting: [] }
    models.set(model, state)
    const { promise, resolve } = Promise.withResolvers<void>()
    const turn: Turn = { tokens, isUnderWay: false, go: resolve }
    state.waiting.push(turn)
    follow()
    await Promise.race([promise, over])
    if (!turn.isUnderWay) leaveQueue()

    function follow() {
      const fits = (more: number) => state.tokens === 0 || state.tokens + more <= mostTokens
      for (let next = state.waiting[0]; next !== undefined && fits(next.tokens); next = state.waiting[0]) {
        state.waiting.shift()
        state.tokens += next.tokens
        next.isUnderWay = true
        next.go()
      }
      if (state.tokens === 0 && state.waiting.length === 0) models.delete(model)
    }

    /** Removes this generation from the queue, and lets the next generation go if it fits: it may have fewer tokens. */
    function leaveQueue() {
      state.waiting.splice(state.waiting.indexOf(turn), 1)
      follow()
    }

    return () => {
      if (!turn.isUnderWay) return
      turn.isUnderWay = false
      state.tokens -= tokens
      follow()
    }
  }
}
