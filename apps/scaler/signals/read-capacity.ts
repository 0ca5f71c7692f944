import { toReportedEngines, type ReportedEngine, type WorkerHeartbeat } from '#libs/event-bus/heartbeat.ts'
import type { KeptMeans } from '../snapshot.ts'
import { createThroughput, type Throughput } from './throughput.ts'

/** An engine as its worker's last heartbeat describes it, and when that heartbeat was received. */
export type HeardEngine = {
  readonly engine: ReportedEngine
  readonly heardMs: number
  /** The number of consecutive heartbeats that described the engine as cordoned and running nothing. */
  readonly idleReports: number
}

/** The load of a model's workers, with the means that are kept while the model has no worker. */
export type CapacityLoad = KeptMeans & { readonly running: number; readonly ready: number }

export type CapacityReader = {
  receive(heartbeat: WorkerHeartbeat): void
  /** Returns the engine of the worker in this pod, by a heartbeat that is at most 10 s old. */
  ofPod(pod: { name: string; uid: string }): HeardEngine | null
  /** Returns true if a worker of this pod has ever reported. */
  knowsPod(pod: { uid: string }): boolean
  load(model: string): CapacityLoad
  means(model: string): KeptMeans
  /** Takes over an earlier leader's means of models for which this process has none. */
  adopt(means: Readonly<Record<string, KeptMeans>>): void
}

/** Workers send a heartbeat each second. The last one of a worker counts for this long. */
const SILENT_MS = 10_000
/** A silent worker is remembered for this time, so that its pod does not count as loading. */
const FORGET_MS = 300_000

const UNKNOWN: KeptMeans = {
  meanServiceMs: null,
  meanOutputTokens: null,
  decodePerReplica: null,
  prefillPerReplica: null,
  slotsPerReplica: null,
}

/** Keeps each engine's last state and derives each model's means from them. */
export function createCapacityReader(options: { nowMs: () => number }): CapacityReader {
  const { nowMs } = options
  /** By the worker's id and the engine's model. */
  const engines = new Map<string, Engine>()
  const throughputs = new Map<string, Throughput>()
  const kept = new Map<string, KeptMeans>()

  function throughputOf(model: string): Throughput {
    const found = throughputs.get(model) ?? createThroughput()
    throughputs.set(model, found)
    return found
  }

  const isHeard = ({ heardMs }: HeardEngine) => nowMs() - heardMs <= SILENT_MS
  const heardOf = (model: string) =>
    [...engines.values()].filter((each) => each.engine.model === model && isHeard(each))

  function meansOf(model: string): KeptMeans {
    const heard = heardOf(model)
    const measured = {
      ...throughputOf(model).read(),
      meanServiceMs: meanService(heard),
      slotsPerReplica: meanSlots(heard),
    }
    const means = withDefaults(measured, kept.get(model) ?? UNKNOWN)
    kept.set(model, means)
    return means
  }

  function note(engine: ReportedEngine): void {
    const now = nowMs()
    const key = `${engine.id} ${engine.model}`
    const before = engines.get(key)
    const isIdle = engine.phase === 'cordoned' && engine.running === 0
    const ended = before === undefined ? 0 : Math.max(0, engine.ended - before.engine.ended)
    if (before !== undefined) {
      throughputOf(engine.model).note(before.engine, engine, { fromMs: before.heardMs, toMs: now })
    }
    engines.set(key, {
      engine,
      heardMs: now,
      idleReports: isIdle ? (before?.idleReports ?? 0) + 1 : 0,
      recentEnded:
        ended + (before?.recentEnded ?? 0) * 0.5 ** ((now - (before?.heardMs ?? now)) / HALF_LIFE_MS),
    })
  }

  return {
    receive(heartbeat) {
      for (const engine of toReportedEngines(heartbeat)) note(engine)
      for (const [key, { heardMs }] of engines) if (nowMs() - heardMs > FORGET_MS) engines.delete(key)
    },
    ofPod({ name, uid }) {
      const ofPod = [...engines.values()].filter((each) => isHeard(each) && isOfPod(each.engine, name, uid))
      return ofPod.toSorted((a, b) => b.heardMs - a.heardMs)[0] ?? null
    },
    knowsPod: ({ uid }) => engines.values().some(({ engine }) => engine.podUid === uid),
    load(model) {
      const heard = heardOf(model)
      return {
        ...meansOf(model),
        running: heard.reduce((sum, { engine }) => sum + engine.running, 0),
        ready: heard.filter(({ engine }) => engine.phase === 'ready').length,
      }
    },
    means: meansOf,
    adopt(means) {
      for (const [model, known] of Object.entries(means)) {
        kept.set(model, withDefaults(kept.get(model) ?? UNKNOWN, known))
      }
    },
  }
}

/** Returns the means; each unknown mean has its value from `defaults`. */
const withDefaults = (means: KeptMeans, defaults: KeptMeans): KeptMeans => ({
  meanServiceMs: means.meanServiceMs ?? defaults.meanServiceMs,
  meanOutputTokens: means.meanOutputTokens ?? defaults.meanOutputTokens,
  decodePerReplica: means.decodePerReplica ?? defaults.decodePerReplica,
  prefillPerReplica: means.prefillPerReplica ?? defaults.prefillPerReplica,
  slotsPerReplica: means.slotsPerReplica ?? defaults.slotsPerReplica,
})

/** The half-life of the weight that ended generations have in the mean service time. */
const HALF_LIFE_MS = 30_000

type Engine = HeardEngine & { readonly recentEnded: number }

function isOfPod({ podUid, name }: ReportedEngine, podName: string, uid: string): boolean {
  return podUid === null ? name === podName : podUid === uid
}

/**
 * Returns the mean service time over the engines; null when no worker knows its own mean. The weight of an engine is the
 * number of its recently ended generations.
 */
function meanService(engines: readonly Engine[]): number | null {
  let [weighted, weights] = [0, 0]
  for (const { engine, recentEnded } of engines) {
    if (engine.meanGenerationMs === null) continue
    const weight = Math.max(recentEnded, 0.01)
    weighted += engine.meanGenerationMs * weight
    weights += weight
  }
  return weights === 0 ? null : weighted / weights
}

/** Returns the mean number of slots; null as long as no engine has reported how many generations it runs at once. */
function meanSlots(engines: readonly Engine[]): number | null {
  const known = engines.flatMap(({ engine }) => (engine.slots > 0 ? [engine.slots] : []))
  return known.length === 0 ? null : known.reduce((sum, slots) => sum + slots, 0) / known.length
}
