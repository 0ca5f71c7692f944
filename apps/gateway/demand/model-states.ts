import type { ModelState, ModelStates } from '#libs/event-bus/scaling-signals.ts'

/** The states of the models that the leading scaler manages. */
export type KnownModelStates = {
  apply(states: ModelStates): void
  /**
   * With `etaMs` as of now. Null where no scaler manages the model, or none has sent a message for 5 s: then nothing is
   * known, and the gateway decides as it does without a scaler.
   */
  find(model: string): ModelState | null
  /** Whether a worker of the model is starting and is predicted to be ready within this time. */
  startsWithin(model: string, limitMs: number): boolean
}

/** Five messages long. */
const FRESH_MS = 5_000

/**
 * Keeps the latest message of the highest term, so that a scaler that lost the lead without knowing it is ignored. A term
 * is forgotten with its message: after a loss of the queue Redis' data terms begin anew.
 */
export function createModelStates(nowMs: () => number): KnownModelStates {
  let latest: { term: number; atMs: number; models: ReadonlyMap<string, ModelState> } | null = null

  function find(model: string): ModelState | null {
    if (latest === null) return null
    const ageMs = nowMs() - latest.atMs
    const state = latest.models.get(model)
    if (state === undefined || ageMs >= FRESH_MS) return null
    return { ...state, etaMs: state.etaMs === null ? null : Math.max(0, state.etaMs - ageMs) }
  }

  return {
    apply({ term, models }) {
      const atMs = nowMs()
      if (latest !== null && term < latest.term && atMs - latest.atMs < FRESH_MS) return
      latest = { term, atMs, models: new Map(models.map((state) => [state.model, state])) }
    },
    find,
    startsWithin(model, limitMs) {
      const state = find(model)
      return state?.state === 'warming' && state.etaMs !== null && state.etaMs <= limitMs
    },
  }
}
