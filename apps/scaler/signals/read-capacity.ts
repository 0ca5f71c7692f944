import type { Capacity } from '#libs/event-bus/scaling-signals.ts'
import type { KeptMeans } from '../snapshot.ts'
import { createThroughput, type Throughput } from './throughput.ts'

/** A worker's last message, and when it was received. */
export type WorkerReport = {
  readonly capacity: Capacity
  readonly heardMs: number
  /** The number of consecutive messages that reported the worker as cordoned and running nothing. */
  readonly idleReports: number
}

/** The load of a model's workers, with the means that are kept while the model has no worker. */
export type CapacityLoad = KeptMeans & { readonly running: number; readonly ready: number }

export type CapacityReader = {
  receive(capacity: Capacity): void
  /** Returns the last report of the worker in this pod, at most 10 s old. */
  ofPod(pod: { name: string; uid: string }): WorkerReport | null
  /** Returns true if a worker of this pod has ever reported. */
  knowsPod(pod: { uid: string }): boolean
  load(model: string): CapacityLoad
  means(model: string): KeptMeans
  /** Takes over an earlier leader's means of models for which this process has none. */
  adopt(means: Readonly<Record<string, KeptMeans>>): void
}

/** Workers report each second. The last report of a worker counts for this long. */
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

/** Keeps each worker's last message and derives each model's means from them. */
export function createCapacityReader(options: { nowMs: () => number }): CapacityReader {
  const { nowMs } = options
  const workers = new Map<string, Worker>()
  const throughputs = new Map<string, Throughput>()
  const kept = new Map<string, KeptMeans>()

  function throughputOf(model: string): Throughput {
    const found = throughputs.get(model) ?? createThroughput()
    throughputs.set(model, found)
    return found
  }

  const heard = (worker: WorkerReport) => nowMs() - worker.heardMs <= SILENT_MS

  function meansOf(model: string): KeptMeans {
    const before = kept.get(model) ?? UNKNOWN
    const reports = [...workers.values()].filter((worker) => worker.capacity.model === model && heard(worker))
    const measured = throughputOf(model).read()
    const means: KeptMeans = {
      meanServiceMs: meanService(reports) ?? before.meanServiceMs,
      slotsPerReplica: meanSlots(reports) ?? before.slotsPerReplica,
      meanOutputTokens: measured.meanOutputTokens ?? before.meanOutputTokens,
      decodePerReplica: measured.decodePerReplica ?? before.decodePerReplica,
      prefillPerReplica: measured.prefillPerReplica ?? before.prefillPerReplica,
    }
    kept.set(model, means)
    return means
  }

  return {
    receive(capacity) {
      const now = nowMs()
      const before = workers.get(capacity.id)
      const isIdle = capacity.phase === 'cordoned' && capacity.running === 0
      const ended = before === undefined ? 0 : Math.max(0, capacity.ended - before.capacity.ended)
      if (before !== undefined) {
        throughputOf(capacity.model).note(before.capacity, capacity, { fromMs: before.heardMs, toMs: now })
      }
      workers.set(capacity.id, {
        capacity,
        heardMs: now,
        idleReports: isIdle ? (before?.idleReports ?? 0) + 1 : 0,
        recentEnded:
          ended + (before?.recentEnded ?? 0) * 0.5 ** ((now - (before?.heardMs ?? now)) / HALF_LIFE_MS),
      })
      for (const [id, { heardMs }] of workers) if (now - heardMs > FORGET_MS) workers.delete(id)
    },
    ofPod({ name, uid }) {
      const reports = [...workers.values()].filter(
        (worker) => heard(worker) && isOfPod(worker.capacity, name, uid),
      )
      return reports.toSorted((a, b) => b.heardMs - a.heardMs)[0] ?? null
    },
    knowsPod: ({ uid }) => [...workers.values()].some(({ capacity }) => capacity.podUid === uid),
    load(model) {
      const reports = [...workers.values()].filter(
        (worker) => worker.capacity.model === model && heard(worker),
      )
      return {
        ...meansOf(model),
        running: reports.reduce((sum, { capacity }) => sum + capacity.running, 0),
        ready: reports.filter(({ capacity }) => capacity.phase === 'ready').length,
      }
    },
    means: meansOf,
    adopt(means) {
      for (const [model, known] of Object.entries(means)) {
        const own = kept.get(model) ?? UNKNOWN
        kept.set(model, {
          meanServiceMs: own.meanServiceMs ?? known.meanServiceMs,
          meanOutputTokens: own.meanOutputTokens ?? known.meanOutputTokens,
          decodePerReplica: own.decodePerReplica ?? known.decodePerReplica,
          prefillPerReplica: own.prefillPerReplica ?? known.prefillPerReplica,
          slotsPerReplica: own.slotsPerReplica ?? known.slotsPerReplica,
        })
      }
    },
  }
}

/** The half-life of the weight that ended generations have in the mean service time. */
const HALF_LIFE_MS = 30_000

type Worker = WorkerReport & { readonly recentEnded: number }

function isOfPod({ podUid, name }: Capacity, podName: string, uid: string): boolean {
  return podUid === null ? name === podName : podUid === uid
}

/**
 * Returns the mean service time over the workers; null when no worker knows its own mean. The weight of a worker is the
 * number of its recently ended generations.
 */
function meanService(workers: readonly Worker[]): number | null {
  let [weighted, weights] = [0, 0]
  for (const { capacity, recentEnded } of workers) {
    if (capacity.meanGenerationMs === null) continue
    const weight = Math.max(recentEnded, 0.01)
    weighted += capacity.meanGenerationMs * weight
    weights += weight
  }
  return weights === 0 ? null : weighted / weights
}

/** Returns the mean number of slots; null as long as no engine has reported how many generations it runs at once. */
function meanSlots(workers: readonly Worker[]): number | null {
  const known = workers.flatMap(({ capacity }) => (capacity.slots > 0 ? [capacity.slots] : []))
  return known.length === 0 ? null : known.reduce((sum, slots) => sum + slots, 0) / known.length
}
