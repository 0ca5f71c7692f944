import type { ModelScale, ModelStates } from '#libs/event-bus/scaling-signals.ts'

/** The states of the models that the leading scaler manages. */
export type KnownModelStates = {
  apply(states: ModelStates): void
  /**
   * Returns the state of a model, with `etaMs` counted from now. Null if no scaler manages the model, or if no scaler
   * has sent a message for 5 s. The gateway then decides as it does without a scaler.
   */
  find(model: string): ModelScale | null
  /** True if a worker of the model is starting and is predicted to be ready within this time. */
  startsWithin(model: string, limitMs: number): boolean
}

/** The time in which a scaler sends five messages. */
const FRESH_MS = 5_000

/**
 * Keeps the model states of one message: the latest of the scalers' messages with the highest term. A term is a number.
 * Each time a scaler takes the lead, it gets a term that is higher than all earlier ones. So the messages of a scaler
 * that has lost the lead, and does not know it yet, are ignored. A term expires together with its message, because
 * terms begin anew after the queue Redis has lost its data.
 */
export function createModelStates(nowMs: () => number): KnownModelStates {
  let latest: { term: number; atMs: number; models: ReadonlyMap<string, ModelScale> } | null = null

  function find(model: string): ModelScale | null {
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
