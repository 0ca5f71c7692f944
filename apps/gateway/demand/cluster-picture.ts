import { BEAT_MS, type EngineState } from '#libs/event-bus/heartbeat.ts'

/** The fields of an engine's state that the picture reads. */
type PicturedEngine = Pick<
  EngineState,
  | 'model'
  | 'ready'
  | 'slots'
  | 'running'
  | 'meanGenerationMs'
  | 'slotTokensPerS'
  | 'contextWindow'
  | 'callFormat'
>

/** The fields of a heartbeat that the picture reads. */
export type PicturedHeartbeat =
  | { readonly kind: 'gateway' }
  | { readonly kind: 'worker'; readonly id: string; readonly engines: readonly PicturedEngine[] }

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

/** How many generations of a model one ready worker runs on all its engines, and its share of all of them. */
export type WorkerPicture = {
  /** The smaller number of its last two heartbeats, corrected by the generations that were placed since the last one. */
  readonly running: number
  /** The number of generations that it would run if all ready workers of the model ran the same part of their slots. */
  readonly share: number
}

export type ClusterPicture = {
  applyHeartbeat(heartbeat: PicturedHeartbeat): void
  forgetWorker(id: string): void
  /** Returns null if the worker is not ready, or if it is the only ready worker of the model. */
  findWorker(model: string, worker: string): WorkerPicture | null
  /**
   * Returns a calm ready worker of the model. A worker is calm if it runs a smaller part of its slots than any other
   * worker would run with one generation more. Of several calm workers, the worker is returned whose turn it is.
   * Workers have turns in proportion to their slots, so that conversations with long pauses are spread as well. Returns
   * null if all workers are nearly full, or if only one worker is ready.
   */
  findLeastLoaded(model: string): string | null
  /** Counts one generation more for the worker, until its next heartbeat. */
  notePlaced(model: string, worker: string): void
  /** Returns null if no ready worker serves the model. */
  find(model: string): ModelPicture | null
  /** Returns the number of workers that have a ready engine of the model. */
  countWorkers(model: string): number
  /** Returns the ids of these workers. */
  workersOf(model: string): readonly string[]
  /** Returns a model's tool-call format as its last worker reported it; null if no worker has. */
  callFormatOf(model: string): string | null
}

/** A worker without a heartbeat for this long does not count as serving. */
const FRESH_MS = 4 * BEAT_MS
/**
 * A worker that runs this part of its slots is nearly full. Of the generations that were placed since the last
 * heartbeat, a gateway knows only its own. So the rest of the slots is left for the generations of the other gateways:
 * too many generations that were placed at one worker would wait for it.
 */
const NEARLY_FULL = 0.75

/** The ready engines of one model in one worker. */
type Serving = {
  readonly engines: readonly PicturedEngine[]
  readonly slots: number
  readonly running: number
  /** The number of generations that ran at the heartbeat before. */
  readonly runningBefore: number
  /** The number of generations that were placed since the heartbeat. */
  placed: number
  /** The worker's next turn to get a placed generation. The turns of a worker are 1 ÷ its slots apart. */
  turn: number
}

/** The ready workers of one model. */
type ServedModel = {
  readonly workers: Map<string, Serving>
  /** The sums over all workers. `running` includes the placed generations. */
  slots: number
  running: number
  /** The answer of `findLeastLoaded`; undefined if it may have changed. */
  leastLoaded: string | null | undefined
  /** The latest turn that a worker has had. */
  latestTurn: number
}

/**
 * The workers and the models that they serve, from the heartbeats on the bus. Kept in memory. Each request reads
 * several of these facts, so they are kept by model, and no read visits all workers of the cell.
 */
export function createClusterPicture(nowMs: () => number): ClusterPicture {
  /** The time of each worker's last heartbeat. */
  const seen = new Map<string, number>()
  const models = new Map<string, ServedModel>()
  const callFormats = new Map<string, string>()
  /** No worker's heartbeat becomes too old before this time. */
  let staleAtMs = 0

  function read(model: string): ServedModel | undefined {
    if (nowMs() > staleAtMs) forgetStale()
    return models.get(model)
  }

  function forgetStale(): void {
    let oldestMs = nowMs()
    for (const [id, seenMs] of seen) {
      if (nowMs() - seenMs > FRESH_MS) forget(id)
      else oldestMs = Math.min(oldestMs, seenMs)
    }
    staleAtMs = oldestMs + FRESH_MS
  }

  /** Returns what the worker has served until now. */
  function forget(id: string): ReadonlyMap<string, Serving> {
    const served = new Map<string, Serving>()
    seen.delete(id)
    for (const [model, all] of models) {
      const serving = all.workers.get(id)
      if (serving === undefined) continue
      served.set(model, serving)
      all.workers.delete(id)
      all.slots -= serving.slots
      all.running -= serving.running + serving.placed
      all.leastLoaded = undefined
      if (all.workers.size === 0) models.delete(model)
    }
    return served
  }

  function add(id: string, model: string, serving: Serving): void {
    const all = models.get(model) ?? {
      workers: new Map(),
      slots: 0,
      running: 0,
      leastLoaded: undefined,
      latestTurn: 0,
    }
    models.set(model, all)
    all.workers.set(id, serving)
    all.slots += serving.slots
    all.running += serving.running
    // The turn before the worker's next one: a model that had no worker for a moment does not begin anew.
    all.latestTurn = Math.max(all.latestTurn, serving.turn - 1 / Math.max(1, serving.slots))
    all.leastLoaded = undefined
  }

  return {
    applyHeartbeat(heartbeat) {
      if (heartbeat.kind !== 'worker') return
      const { id, engines } = heartbeat
      const before = forget(id)
      seen.set(id, nowMs())
      const ready = Map.groupBy(
        engines.filter((engine) => engine.ready),
        ({ model }) => model,
      )
      for (const [model, ofModel] of ready) add(id, model, toServing(ofModel, before.get(model)))
      for (const { model, callFormat } of engines) {
        if (callFormat !== undefined) callFormats.set(model, callFormat)
      }
    },
    forgetWorker: forget,
    findWorker(model, worker) {
      const { workers, slots: allSlots, running: allRunning } = read(model) ?? NO_MODEL
      const found = workers.get(worker)
      if (found === undefined || workers.size < 2) return null
      const { slots, running, runningBefore, placed } = found
      return {
        running: Math.min(running, runningBefore) + placed,
        share: (allRunning * slots) / Math.max(1, allSlots),
      }
    },
    findLeastLoaded(model) {
      const all = read(model)
      if (all === undefined || all.workers.size < 2) return null
      if (all.leastLoaded === undefined) all.leastLoaded = findLeastLoaded(all.workers)
      return all.leastLoaded
    },
    notePlaced(model, worker) {
      const all = models.get(model)
      const serving = all?.workers.get(worker)
      if (all === undefined || serving === undefined) return
      serving.placed += 1
      all.running += 1
      all.leastLoaded = undefined
      // A worker does not keep the turns that it did not take.
      all.latestTurn = Math.max(all.latestTurn, serving.turn)
      serving.turn = all.latestTurn + 1 / Math.max(1, serving.slots)
    },
    find(model) {
      const { workers, slots } = read(model) ?? NO_MODEL
      const engines = Array.from(workers.values()).flatMap((serving) => serving.engines)
      if (slots === 0) return null
      return {
        slots,
        // An engine may have more than it can run, for a request of several answers. The others' free slots stay free.
        running: engines.reduce((sum, { running, slots: own }) => sum + Math.min(running, own), 0),
        meanGenerationMs: meanOf(engines.map((engine) => engine.meanGenerationMs)),
        slotTokensPerS: meanOf(engines.map((engine) => engine.slotTokensPerS)),
        contextWindow: Math.max(...engines.map((engine) => engine.contextWindow ?? 0)),
      }
    },
    countWorkers: (model) => (read(model) ?? NO_MODEL).workers.size,
    workersOf: (model) => [...(read(model) ?? NO_MODEL).workers.keys()],
    callFormatOf: (model) => callFormats.get(model) ?? null,
  }
}

const NO_MODEL: ServedModel = { workers: new Map(), slots: 0, running: 0, leastLoaded: null, latestTurn: 0 }

function toServing(engines: readonly PicturedEngine[], before: Serving | undefined): Serving {
  const running = engines.reduce((sum, engine) => sum + engine.running, 0)
  return {
    engines,
    slots: engines.reduce((sum, { slots }) => sum + slots, 0),
    running,
    runningBefore: before?.running ?? running,
    placed: 0,
    turn: before?.turn ?? 0,
  }
}

function findLeastLoaded(workers: ReadonlyMap<string, Serving>): string | null {
  const candidates = Array.from(workers, ([id, { slots, running, placed, turn }]) => {
    const generations = running + placed
    return { id, busy: generations / slots, withNext: (generations + 1) / slots, turn }
  }).filter(({ busy }) => busy < NEARLY_FULL)
  const leastWithNext = Math.min(...candidates.map(({ withNext }) => withNext))
  const calm = candidates.filter(({ busy }) => busy < leastWithNext)
  return calm.toSorted((a, b) => a.turn - b.turn)[0]?.id ?? null
}

/** Returns the mean of the numbers that are known; null if none is. */
function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
}
