import type { WorkerPhase } from '#libs/contracts/model-state.ts'
import type { EngineState } from '#libs/event-bus/heartbeat.ts'
import type { EngineConfig } from '../config.ts'
import type { EngineLife } from '../engine-watch/engine-life.ts'
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

type DescribedEngine = {
  readonly config: Pick<EngineConfig, 'model'>
  readonly life: Pick<EngineLife, 'isSick' | 'loadingMs'>
  readonly served: Pick<ServedEngine, 'state' | 'isHealthy'> | null
}

/** The state of an engine that has not answered. */
const UNKNOWN = {
  ready: false,
  slots: 0,
  running: 0,
  meanGenerationMs: null,
  slotTokensPerS: null,
  contextWindow: null,
  ended: 0,
  promptTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  kvUsed: null,
  kvCapacity: null,
  waiting: null,
  version: null,
} as const

/** Returns the state of an engine as heartbeats and metrics describe it, also while the engine loads. */
export function toEngineState(
  { config, life, served }: DescribedEngine,
  worker: { readonly draining: boolean; readonly cordoned: boolean },
): EngineState {
  const phase = toPhase({ ...worker, sick: life.isSick(), healthy: served?.isHealthy() ?? false })
  return {
    ...(served?.state() ?? UNKNOWN),
    model: config.model,
    phase,
    loadingMs: phase === 'loading' ? life.loadingMs() : null,
  }
}

/**
 * If several conditions are true, the one that lasts longest decides: a worker that drains takes no more work whatever
 * its engine does, and a cordon can end at any time.
 */
function toPhase(of: { draining: boolean; sick: boolean; healthy: boolean; cordoned: boolean }): WorkerPhase {
  if (of.draining) return 'draining'
  if (of.sick) return 'sick'
  if (!of.healthy) return 'loading'
  return of.cordoned ? 'cordoned' : 'ready'
}
