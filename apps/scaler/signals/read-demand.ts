import type { Demand, ModelDemand } from '#libs/event-bus/scaling-signals.ts'

/** One model's demand, summed over gateways. */
export type DemandLoad = {
  /** Offered generations per second: the rate of the last 60 s or of the last 15 s, whichever is higher. */
  readonly freshPerS: number
  /** Estimated prompt tokens of generations that no worker has claimed. */
  readonly waitingTokens: number
  /** True if, within the last 60 s, a request was refused because no worker was ready. */
  readonly unserved: boolean
  /** The time since a request last arrived; null if none was seen. */
  readonly offeredAgoMs: number | null
}

export type DemandReader = {
  receive(demand: Demand): void
  load(model: string): DemandLoad
  /** Returns the load of all gateways; null when no gateway reported within the last 5 s. */
  gateways(): { openStreams: number; loopDelayMs: number } | null
}

const WINDOW_S = 60
const SHORT_WINDOW_S = 15
/**
 * The shortest time over which a rate is computed, because a rate over less time would be random. The limit matters
 * only for a scaler that has just started.
 */
const LEAST_WINDOW_S = 5
/** Gateways report each second. */
const FRESH_MS = 5_000
/** The counters of a silent gateway are kept this long, because it may report again. */
const FORGET_MS = 300_000

/**
 * Sums the gateways' counters.
 * - The counters count since each gateway's start, so that the message after a lost message repairs the sum.
 * - An increase after a gap is spread over the gap, so that the end of an outage of the bus does not look like a burst.
 * - The first counters that a gateway reports for a model are not added to the sum, because it is unknown when their
 *   requests came. They are the base of the next increase.
 *
 * `onUnserved` is called with a model when a gateway reports a new request that was refused because no worker of the
 * model was ready, or that was queued to wait for the model's start.
 */
export function createDemandReader(options: {
  nowMs: () => number
  onUnserved: (model: string) => void
}): DemandReader {
  const { nowMs, onUnserved } = options
  const startedMs = nowMs()
  const gateways = new Map<string, Gateway>()
  const models = new Map<string, Model>()

  function modelOf(name: string): Model {
    const found = models.get(name) ?? { seconds: [], unservedAtMs: -Infinity, offeredAtMs: null }
    models.set(name, found)
    return found
  }

  function note(name: string, counted: { before: Counted | undefined; after: ModelDemand; gapMs: number }) {
    const { before, after, gapMs } = counted
    const now = nowMs()
    const model = modelOf(name)
    if (after.unservedAgoMs !== null) {
      model.unservedAtMs = Math.max(model.unservedAtMs, now - after.unservedAgoMs)
    }
    const added = before === undefined ? null : minus(after, before)
    if (added === null || added.fresh + added.repeated > 0) model.offeredAtMs = now
    if (after.unserved > (before?.unserved ?? 0)) onUnserved(name)
    if (added !== null) spread(model.seconds, added, { now, gapMs })
  }

  return {
    receive({ id, openStreams, loopDelayMs, models: counters }) {
      const now = nowMs()
      const known = gateways.get(id)
      const gateway = known ?? {
        heardMs: now,
        openStreams,
        loopDelayMs,
        counted: new Map(),
        waiting: new Map(),
      }
      const gapMs = now - gateway.heardMs
      for (const [name, after] of Object.entries(counters)) {
        note(name, { before: gateway.counted.get(name), after, gapMs })
        gateway.counted.set(name, after)
      }
      const waiting = Object.entries(counters).map(
        ([name, { waitingTokens }]) => [name, waitingTokens] as const,
      )
      gateways.set(id, { ...gateway, heardMs: now, openStreams, loopDelayMs, waiting: new Map(waiting) })
      for (const [other, { heardMs }] of gateways) if (now - heardMs > FORGET_MS) gateways.delete(other)
    },

    load(name) {
      const now = nowMs()
      const model = models.get(name)
      const heard = [...gateways.values()].filter(({ heardMs }) => now - heardMs <= FRESH_MS)
      const waitingTokens = heard.reduce((sum, { waiting }) => sum + (waiting.get(name) ?? 0), 0)
      if (model === undefined) return { freshPerS: 0, waitingTokens, unserved: false, offeredAgoMs: null }
      const rate = (windowS: number) => {
        const overS = Math.min(windowS, Math.max(LEAST_WINDOW_S, (now - startedMs) / 1_000))
        return offered(model.seconds.filter(({ atMs }) => now - atMs < windowS * 1_000)) / overS
      }
      return {
        freshPerS: Math.max(rate(WINDOW_S), rate(SHORT_WINDOW_S)),
        waitingTokens,
        unserved: now - model.unservedAtMs <= WINDOW_S * 1_000,
        offeredAgoMs: model.offeredAtMs === null ? null : now - model.offeredAtMs,
      }
    },

    gateways() {
      const heard = [...gateways.values()].filter(({ heardMs }) => nowMs() - heardMs <= FRESH_MS)
      if (heard.length === 0) return null
      const delays = heard.map(({ loopDelayMs }) => loopDelayMs).toSorted((a, b) => a - b)
      return {
        openStreams: heard.reduce((sum, { openStreams }) => sum + openStreams, 0),
        // The median is used, because one gateway on a slow machine is no reason for more gateways.
        loopDelayMs: delays[Math.floor(delays.length / 2)] ?? 0,
      }
    },
  }
}

type Counted = Pick<ModelDemand, 'fresh' | 'repeated' | 'refused' | 'unserved'>

type Gateway = {
  heardMs: number
  openStreams: number
  loopDelayMs: number
  counted: Map<string, Counted>
  /** Waiting prompt tokens by model, from the gateway's last message. */
  waiting: ReadonlyMap<string, number>
}

type Second = { readonly atMs: number; fresh: number; repeated: number; refused: number }

type Model = {
  /** Counts by second, oldest first. */
  seconds: Second[]
  unservedAtMs: number
  offeredAtMs: number | null
}

function minus(after: Counted, before: Counted) {
  return {
    fresh: Math.max(0, after.fresh - before.fresh),
    repeated: Math.max(0, after.repeated - before.repeated),
    refused: Math.max(0, after.refused - before.refused),
  }
}

/** Adds the counts to the seconds of the gap, in equal parts. Drops seconds that are older than the window. */
function spread(seconds: Second[], added: Omit<Second, 'atMs'>, span: { now: number; gapMs: number }): void {
  const parts = Math.max(1, Math.round(span.gapMs / 1_000))
  for (let part = Math.min(parts, WINDOW_S) - 1; part >= 0; part -= 1) {
    const atMs = Math.floor(span.now / 1_000 - part) * 1_000
    let second = seconds.find((known) => known.atMs === atMs)
    if (second === undefined) {
      second = { atMs, fresh: 0, repeated: 0, refused: 0 }
      seconds.push(second)
    }
    second.fresh += added.fresh / parts
    second.repeated += added.repeated / parts
    second.refused += added.refused / parts
  }
  while ((seconds[0]?.atMs ?? Infinity) <= span.now - WINDOW_S * 1_000) seconds.shift()
}

/**
 * Returns the number of fresh requests, in which an unmarked repetition counts half. A repetition is a refused request
 * that its client sends again. If the client does not mark it, gateways count it as fresh. The number of unmarked
 * repetitions is estimated: the refusals minus the marked repetitions.
 */
function offered(seconds: readonly Second[]): number {
  const sum = (field: 'fresh' | 'repeated' | 'refused') =>
    seconds.reduce((total, second) => total + second[field], 0)
  const unmarked = Math.max(0, Math.min(sum('fresh'), sum('refused') - sum('repeated')))
  return sum('fresh') - unmarked / 2
}
