import type { Capacity } from '#libs/event-bus/scaling-signals.ts'
import type { EngineConfig } from '../config.ts'
import type { Cordon } from '../intake/cordon.ts'
import { toPhase } from '../engine-watch/engine-phase.ts'
import type { EngineLife } from '../engine-watch/engine-life.ts'
import type { MeasuredEngine } from '../metrics/engine-metrics.ts'
import type { ServedEngine } from '../serve-engine.ts'

/** One engine of the configuration, from the start of the process on. */
export type WorkerEngine = {
  readonly config: EngineConfig
  readonly life: EngineLife
  /** Null before the engine has answered. */
  served: ServedEngine | null
  /** The parts of a conversation that the chat template cannot print; null without a template or before the load. */
  refuses: readonly string[] | null
}

type ReportedEngine = {
  readonly config: Pick<EngineConfig, 'model'>
  readonly life: Pick<EngineLife, 'isSick' | 'loadingMs'>
  readonly served: Pick<ServedEngine, 'state' | 'isHealthy' | 'totals' | 'kv' | 'engine'> | null
}

export type CapacityReports = {
  /** Sends the capacity of all engines at once. */
  send(): void
  toMeasured(engine: ReportedEngine): MeasuredEngine
  stop(): void
}

const REPORT_MS = 1_000
const UNKNOWN_KV = { used: null, capacity: null } as const
const UNKNOWN_ENGINE = { version: null, waiting: null } as const
const NOTHING = { ended: 0, promptTokens: 0, cachedTokens: 0, outputTokens: 0 }

/**
 * Reports the capacity of each engine each second, also while the engine loads, so that a scaler knows which engines
 * will be ready later. The returned `send` reports at once. Call it when the phase of an engine may have changed.
 */
export function createCapacityReports(deps: {
  identity: Pick<Capacity, 'id' | 'name' | 'podUid' | 'node' | 'pool'>
  engines: readonly ReportedEngine[]
  cordon: Pick<Cordon, 'isCordoned' | 'term'>
  isDraining: () => boolean
  publish: (capacity: Capacity) => void
}): CapacityReports {
  const { identity, engines, cordon, isDraining, publish } = deps

  function toMeasured({ config, life, served }: ReportedEngine): MeasuredEngine {
    const phase = toPhase({
      draining: isDraining(),
      sick: life.isSick(),
      healthy: served?.isHealthy() ?? false,
      cordoned: cordon.isCordoned(),
    })
    return {
      model: config.model,
      phase,
      kv: served?.kv() ?? UNKNOWN_KV,
      engine: served?.engine() ?? UNKNOWN_ENGINE,
      tokens: served?.totals() ?? null,
    }
  }

  function toCapacity(engine: ReportedEngine): Capacity {
    const { life, served } = engine
    const { model, phase, kv, engine: connected } = toMeasured(engine)
    const state = served?.state()
    return {
      ...identity,
      model,
      phase,
      slots: state?.slots ?? 0,
      running: state?.running ?? 0,
      meanGenerationMs: state?.meanGenerationMs ?? null,
      ...(served?.totals() ?? NOTHING),
      kvUsed: kv.used,
      kvCapacity: kv.capacity,
      loadingMs: phase === 'loading' ? life.loadingMs() : null,
      cordonTerm: cordon.term(),
      ...(connected.version !== null && { engine: connected.version }),
    }
  }

  function send() {
    for (const engine of engines) publish(toCapacity(engine))
  }

  send()
  const timer = setInterval(send, REPORT_MS)
  return { send, toMeasured, stop: () => clearInterval(timer) }
}
