import { BEAT_MS, type Heartbeat } from '#libs/event-bus/heartbeat.ts'

/** The ready engines of one model, taken together. */
export type ModelPicture = {
  /** Generations that the engines can run at once. */
  readonly slots: number
  readonly running: number
  /** Mean time from claim to end; null until an engine has measured it. */
  readonly meanGenerationMs: number | null
  /** The tokens of prompts and outputs that one slot takes in a second; null until an engine has measured it. */
  readonly slotTokensPerS: number | null
  /** The largest context window of the engines, in tokens. */
  readonly contextWindow: number
}

/** The load of one ready worker of a model, and what its load would be if all ready workers had the same. */
export type WorkerPicture = {
  readonly slots: number
  /** The smaller number of its last two heartbeats, corrected by the generations that were placed since the last one. */
  readonly running: number
  /** The number of generations that it would run if all ready workers of the model ran the same part of their slots. */
  readonly share: number
  readonly meanGenerationMs: number | null
}

export type ClusterPicture = {
  applyHeartbeat(heartbeat: Heartbeat): void
  forgetWorker(id: string): void
  /** Returns null if the worker is not ready, or is the only ready worker of the model. */
  findWorker(model: string, worker: string): WorkerPicture | null
  /**
   * Returns a calm ready worker of the model: no other worker would run a smaller or the same part of its slots with one
   * generation more. Of several calm workers, the worker is returned whose turn it is. Workers have turns in proportion to
   * their slots, so that conversations with long pauses are spread as well. Returns null if all workers are nearly full,
   * or if only one worker is ready.
   */
  findCalmest(model: string): string | null
  /** Counts one generation more for the worker, and one less for `from`, until their next heartbeats. */
  notePlaced(worker: string, from: string | null): void
  /** Returns null if no ready worker serves the model. */
  find(model: string): ModelPicture | null
  /** Returns the ids of the workers that have a ready engine of the model. */
  workersOf(model: string): readonly string[]
  /** Returns a model's tool-call format as its last worker reported it; null if no worker has. */
  callFormatOf(model: string): string | null
}

/** A worker without a heartbeat for this long does not count as serving. */
const FRESH_MS = 4 * BEAT_MS
/**
 * A worker that runs this part of its slots is nearly full. Each gateway knows only its own generations of the last second,
 * so the rest of the slots is left for the generations of others: a worker that gets too many offers makes them wait.
 */
const NEARLY_FULL = 0.75

/** The workers and the models that they serve, from the heartbeats on the bus. Kept in memory. */
export function createClusterPicture(nowMs: () => number): ClusterPicture {
  const workers = new Map<
    string,
    {
      seenMs: number
      engines: Heartbeat['engines']
      before: Heartbeat['engines']
      /** The number of generations that were placed since the heartbeat. */
      placed: number
      /** The worker's next turn to get a placed generation. The turns of a worker are 1 ÷ its slots apart. */
      turn: number
    }
  >()
  /** The latest turn that a worker has had. */
  let latestTurn = 0
  /** Stored by model, because every request asks for a format, and searching all workers would take too long. */
  const callFormats = new Map<string, string>()

  /** Yields the workers that have a ready engine of the model. */
  function* readyEngines(model: string) {
    for (const [id, { seenMs, engines, ...rest }] of workers) {
      const engine = engines.find((each) => each.model === model && each.ready)
      if (engine !== undefined && nowMs() - seenMs <= FRESH_MS) yield { id, engine, ...rest }
    }
  }

  return {
    applyHeartbeat({ id, kind, engines }) {
      if (kind !== 'worker') return
      const { engines: before = engines, turn = 0 } = workers.get(id) ?? {}
      workers.set(id, { seenMs: nowMs(), engines, before, placed: 0, turn })
      for (const { model, callFormat } of engines) {
        if (callFormat !== undefined) callFormats.set(model, callFormat)
      }
    },
    forgetWorker(id) {
      workers.delete(id)
    },
    findWorker(model, worker) {
      let [allRunning, allSlots, ready] = [0, 0, 0]
      let found: Omit<WorkerPicture, 'share'> | null = null
      for (const { id, engine, before, placed } of readyEngines(model)) {
        const { slots, running, meanGenerationMs } = engine
        ready += 1
        allRunning += running + placed
        allSlots += slots
        if (id !== worker) continue
        const earlier = before.find((each) => each.model === model)?.running ?? running
        found = { slots, running: Math.min(running, earlier) + placed, meanGenerationMs }
      }
      if (found === null || ready < 2) return null
      return { ...found, share: (allRunning * found.slots) / Math.max(1, allSlots) }
    },
    findCalmest(model) {
      let ready = 0
      let leastWithNext = Number.POSITIVE_INFINITY
      for (const { engine, placed } of readyEngines(model)) {
        ready += 1
        const running = engine.running + placed
        if (running / engine.slots < NEARLY_FULL)
          leastWithNext = Math.min(leastWithNext, (running + 1) / engine.slots)
      }
      if (ready < 2) return null
      let first: { readonly id: string; readonly turn: number } | null = null
      for (const { id, engine, placed, turn } of readyEngines(model)) {
        const busy = (engine.running + placed) / engine.slots
        const isCalm = busy < NEARLY_FULL && busy < leastWithNext
        if (isCalm && (first === null || turn < first.turn)) first = { id, turn }
      }
      return first?.id ?? null
    },
    notePlaced(worker, from) {
      const joined = workers.get(worker)
      const left = from === null ? undefined : workers.get(from)
      if (joined !== undefined) {
        joined.placed += 1
        // A worker does not keep the turns that it did not take.
        latestTurn = Math.max(latestTurn, joined.turn)
        joined.turn = latestTurn + 1 / countSlots(joined.engines)
      }
      if (left !== undefined) left.placed -= 1
    },
    find(model) {
      let slots = 0
      let running = 0
      const meansMs: number[] = []
      const rates: number[] = []
      let contextWindow = 0
      for (const [id, worker] of workers) {
        if (nowMs() - worker.seenMs > FRESH_MS) {
          workers.delete(id)
          continue
        }
        for (const engine of worker.engines) {
          if (engine.model !== model || !engine.ready) continue
          slots += engine.slots
          running += engine.running
          contextWindow = Math.max(contextWindow, engine.contextWindow)
          if (engine.meanGenerationMs !== null) meansMs.push(engine.meanGenerationMs)
          if (engine.slotTokensPerS !== null) rates.push(engine.slotTokensPerS)
        }
      }
      if (slots === 0) return null
      const meanGenerationMs = meanOf(meansMs)
      return { slots, running, meanGenerationMs, slotTokensPerS: meanOf(rates), contextWindow }
    },
    workersOf: (model) => [...readyEngines(model)].map(({ id }) => id),
    callFormatOf: (model) => callFormats.get(model) ?? null,
  }
}

const countSlots = (engines: Heartbeat['engines']) =>
  Math.max(
    1,
    engines.reduce((sum, { slots }) => sum + slots, 0),
  )

const meanOf = (values: readonly number[]) =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
