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

/** One ready worker of a model, beside the others. */
export type WorkerPicture = {
  readonly slots: number
  /** The smaller number of its last two heartbeats, with those that were moved since the last. */
  readonly running: number
  /** The mean of `running` over all ready workers of the model. */
  readonly meanRunning: number
  readonly meanGenerationMs: number | null
}

export type ClusterPicture = {
  applyHeartbeat(heartbeat: Heartbeat): void
  forgetWorker(id: string): void
  /** Returns the load of one worker among the ready ones; null if it is not ready, or the only one. */
  findWorker(model: string, worker: string): WorkerPicture | null
  /** Returns the ready worker of the model that runs the least; null if there is none. */
  findCalmest(model: string): string | null
  /** Counts one generation less for the first worker and one more for the other, until their next heartbeats. */
  noteMoved(from: string, to: string): void
  /** Returns null if no ready worker serves the model. */
  find(model: string): ModelPicture | null
  /** Returns the ids of the workers that have a ready engine of the model. */
  workersOf(model: string): readonly string[]
  /** Returns a model's tool-call format as its last worker reported it; null if no worker has. */
  callFormatOf(model: string): string | null
}

/** A worker without a heartbeat for this long does not count as serving. */
const FRESH_MS = 4 * BEAT_MS

/** The workers and the models that they serve, from the heartbeats on the bus. Kept in memory. */
export function createClusterPicture(nowMs: () => number): ClusterPicture {
  const workers = new Map<
    string,
    { seenMs: number; engines: Heartbeat['engines']; before: Heartbeat['engines']; moved: number }
  >()
  /** Stored by model, because every request asks for a format, and searching all workers would take too long. */
  const callFormats = new Map<string, string>()

  return {
    applyHeartbeat({ id, kind, engines }) {
      if (kind !== 'worker') return
      workers.set(id, { seenMs: nowMs(), engines, before: workers.get(id)?.engines ?? engines, moved: 0 })
      for (const { model, callFormat } of engines) {
        if (callFormat !== undefined) callFormats.set(model, callFormat)
      }
    },
    forgetWorker(id) {
      workers.delete(id)
    },
    findWorker(model, worker) {
      let sum = 0
      let ready = 0
      let found: Omit<WorkerPicture, 'meanRunning'> | null = null
      for (const [id, { seenMs, engines, before, moved }] of workers) {
        const engine = engines.find((each) => each.model === model && each.ready)
        if (engine === undefined || nowMs() - seenMs > FRESH_MS) continue
        const { slots, running, meanGenerationMs } = engine
        ready += 1
        sum += running
        if (id !== worker) continue
        const earlier = before.find((each) => each.model === model)?.running ?? running
        found = { slots, running: Math.min(running, earlier) + moved, meanGenerationMs }
      }
      return found === null || ready < 2 ? null : { ...found, meanRunning: sum / ready }
    },
    findCalmest(model) {
      let calmest: { id: string; running: number } | null = null
      for (const [id, { seenMs, engines, moved }] of workers) {
        const engine = engines.find((each) => each.model === model && each.ready)
        if (engine === undefined || nowMs() - seenMs > FRESH_MS) continue
        const running = engine.running + moved
        if (calmest === null || running < calmest.running) calmest = { id, running }
      }
      return calmest?.id ?? null
    },
    noteMoved(from, to) {
      const [left, joined] = [workers.get(from), workers.get(to)]
      if (left !== undefined) left.moved -= 1
      if (joined !== undefined) joined.moved += 1
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
    workersOf(model) {
      const isServing = ({ engines, seenMs }: { seenMs: number; engines: Heartbeat['engines'] }) =>
        nowMs() - seenMs <= FRESH_MS && engines.some((engine) => engine.model === model && engine.ready)
      return [...workers].flatMap(([id, worker]) => (isServing(worker) ? [id] : []))
    },
    callFormatOf: (model) => callFormats.get(model) ?? null,
  }
}

const meanOf = (values: readonly number[]) =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
