import type { EngineState, Heartbeat } from '#libs/event-bus/heartbeat.ts'
import type { Capacity, WorkerPhase } from '#libs/event-bus/scaling-signals.ts'

/** An engine of a worker, as the worker's last messages describe it. */
export type ListedEngine = Pick<EngineState, 'model' | 'ready' | 'slots' | 'running' | 'meanGenerationMs'> & {
  /** The worker's phase; null for a worker of a release that does not report it. */
  readonly phase: WorkerPhase | null
  /** The term of the scaler that cordons the engine; null when no scaler does. */
  readonly cordonTerm: number | null
  /** The engine's release and its servicer; null until it is connected. */
  readonly engine: string | null
}

export type ListedWorker = {
  readonly id: string
  readonly name: string
  /** `podUid`, `node` and `pool` are null outside Kubernetes. */
  readonly podUid: string | null
  readonly node: string | null
  readonly pool: string | null
  readonly engines: readonly ListedEngine[]
}

/**
 * Returns the workers that sent these messages, ordered by name. While an engine loads, its worker sends capacity
 * messages for it, but does not list it in the heartbeat. A worker of an older version sends heartbeats and no capacity
 * messages.
 */
export function listWorkers(
  heartbeats: Iterable<Heartbeat>,
  capacities: Iterable<Capacity>,
): readonly ListedWorker[] {
  const workers = new Map<string, { heartbeat: Heartbeat | null; reports: Capacity[] }>()
  for (const heartbeat of heartbeats) workers.set(heartbeat.id, { heartbeat, reports: [] })
  for (const capacity of capacities) {
    const worker = workers.get(capacity.id) ?? { heartbeat: null, reports: [] }
    worker.reports.push(capacity)
    workers.set(capacity.id, worker)
  }
  return Array.from(workers, ([id, { heartbeat, reports }]): ListedWorker => {
    const [report] = reports
    return {
      id,
      name: heartbeat?.name ?? report?.name ?? '',
      podUid: report?.podUid ?? null,
      node: report?.node ?? null,
      pool: report?.pool ?? null,
      engines: toEngines(heartbeat?.engines ?? [], reports),
    }
  }).toSorted((a, b) => (`${a.name} ${a.id}` < `${b.name} ${b.id}` ? -1 : 1))
}

function toEngines(states: readonly EngineState[], reports: readonly Capacity[]): readonly ListedEngine[] {
  const known = states.map(({ model, ready, slots, running, meanGenerationMs }): ListedEngine => {
    const report = reports.find((each) => each.model === model)
    const { phase = null, cordonTerm = null, engine = null } = report ?? {}
    return { model, ready, slots, running, meanGenerationMs, phase, cordonTerm, engine }
  })
  const others = reports
    .filter(({ model }) => states.every((state) => state.model !== model))
    .map(({ model, phase, slots, running, meanGenerationMs, cordonTerm, engine = null }): ListedEngine => {
      return { model, ready: phase === 'ready', slots, running, meanGenerationMs, phase, cordonTerm, engine }
    })
  return [...known, ...others]
}
