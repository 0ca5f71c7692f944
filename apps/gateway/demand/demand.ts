import type { ModelDemand } from '#libs/event-bus/scaling-signals.ts'

/**
 * The outcome of a request that workers could have run. A request has no such outcome, and does not count as offered
 * load, if more workers would not help it. This is so if its account has no credits, if its key is over its rate, or if
 * its account is barred (`poison-bound.ts`).
 */
export type OfferOutcome = 'accepted' | 'busy' | 'unserved'

/** The load that clients offer to this gateway, by model: the numbers that scalers receive. */
export type Demand = {
  /** Counts one request, once its outcome is known, as fresh or repeated. */
  count(offer: { model: string; isRepeated: boolean; outcome: OfferOutcome }): void
  /**
   * Counts a generation with `promptTokens` as waiting for a worker, until the returned function is called. Later calls
   * of that function have no effect.
   */
  wait(model: string, promptTokens: number): () => void
  /** Counts a generation that waits for its model to start as unserved. `count` counts the same generation too. */
  awaitStart(model: string): void
  /** Returns the models for which a generation waits, or which were requested within the last minute. */
  read(): Record<string, ModelDemand>
}

const ACTIVE_MS = 60_000

type Load = Record<'fresh' | 'repeated' | 'refused' | 'unserved' | 'waiting' | 'waitingTokens', number> & {
  requestedMs: number
  /** The time of the last refusal for want of a worker. */
  unservedMs: number
}

/**
 * Creates the demand of this gateway. Its counters are in memory and begin at 0 when the process starts. Only models of
 * the catalog are counted, so there is a bounded number of counters. `onUnserved` is called after each request that
 * finds no ready worker of its model, and for this reason is refused or is queued to wait for the model's start.
 */
export function createDemand(deps: { onUnserved: () => void; nowMs: () => number }): Demand {
  const { onUnserved, nowMs } = deps
  const loads = new Map<string, Load>()

  function loadOf(model: string): Load {
    const known = loads.get(model)
    if (known !== undefined) return known
    const load: Load = {
      fresh: 0,
      repeated: 0,
      refused: 0,
      unserved: 0,
      waiting: 0,
      waitingTokens: 0,
      requestedMs: -Infinity,
      unservedMs: -Infinity,
    }
    loads.set(model, load)
    return load
  }

  function noteUnserved(load: Load): void {
    load.unserved += 1
    onUnserved()
  }

  return {
    count({ model, isRepeated, outcome }) {
      const load = loadOf(model)
      load[isRepeated ? 'repeated' : 'fresh'] += 1
      load.requestedMs = nowMs()
      if (outcome !== 'accepted') load.refused += 1
      if (outcome !== 'unserved') return
      load.unservedMs = load.requestedMs
      noteUnserved(load)
    },
    wait(model, promptTokens) {
      const load = loadOf(model)
      load.waiting += 1
      load.waitingTokens += promptTokens
      let waits = true
      return () => {
        if (!waits) return
        waits = false
        load.waiting -= 1
        load.waitingTokens -= promptTokens
      }
    },
    awaitStart(model) {
      const load = loadOf(model)
      load.requestedMs = nowMs()
      noteUnserved(load)
    },
    read() {
      const now = nowMs()
      const active = [...loads].filter(
        ([, { waiting, requestedMs }]) => waiting > 0 || now - requestedMs < ACTIVE_MS,
      )
      return Object.fromEntries(active.map(([model, load]) => [model, toModelDemand(load, now)]))
    },
  }
}

function toModelDemand(load: Load, now: number): ModelDemand {
  const { fresh, repeated, refused, unserved, waitingTokens } = load
  const agoMs = now - load.unservedMs
  const unservedAgoMs = agoMs < ACTIVE_MS ? agoMs : null
  return { fresh, repeated, refused, unserved, waitingTokens, unservedAgoMs }
}
