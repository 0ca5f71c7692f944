import { z } from 'zod'
import { WorkerPhase } from '#libs/contracts/model-state.ts'
import { heartbeatChannel } from './channels.ts'
import type { Signal } from './scaling-signals.ts'

/**
 * The heartbeats that gateways and workers publish each second, and at once after a change. They show who is alive. A
 * worker's heartbeat is also the one description of its engines: gateways, scalers, the console and the command line
 * read it. Counters count since the start of the sender, so the next heartbeat makes up for a lost one.
 */

const count = z.int().min(0)
const ms = z.number().min(0)

/** The part of a worker's heartbeat that describes one engine. Engines that load are described too. */
export const EngineState = z.object({
  model: z.string(),
  phase: WorkerPhase,
  /**
   * True if the worker pulls generations: the engine is healthy, the worker is neither stopping nor cordoned, and the
   * model's queue is not paused.
   */
  ready: z.boolean(),
  /** How many generations the engine runs at once; 0 until the engine has reported it. */
  slots: count,
  running: count,
  /** Mean time from claim to end of the last generations; null until a generation has ended. */
  meanGenerationMs: ms.nullable(),
  /**
   * The number of tokens, of prompts and outputs together, that one slot processes in a second; null until a generation
   * has ended.
   */
  slotTokensPerS: z.number().nullable(),
  /** The engine's context window in tokens; null until the engine has reported it. */
  contextWindow: count.nullable(),
  /** The name of the format in which the model writes tool calls. */
  callFormat: z.string().optional(),
  /** Generations that ended. The next three fields count tokens. */
  ended: count,
  promptTokens: count,
  cachedTokens: count,
  outputTokens: count,
  /** The used part of the engine's KV cache in tokens, and its size. Null if the engine does not report them. */
  kvUsed: count.nullable(),
  kvCapacity: count.nullable(),
  /** Requests that the engine has accepted and not begun; null if the engine does not report it. */
  waiting: count.nullable(),
  /** How long the engine has been loading; null in other phases. */
  loadingMs: ms.nullable(),
  /** The engine's release and its servicer; null until the engine is connected. */
  version: z.string().nullable(),
})
export type EngineState = z.infer<typeof EngineState>

export const WorkerHeartbeat = z.object({
  kind: z.literal('worker'),
  /** Boot id. */
  id: z.string(),
  /** WORKER_NAME; in Kubernetes the pod's name. Not unique. */
  name: z.string(),
  /** The pod's uid. This field and the next two are null outside Kubernetes. */
  podUid: z.string().nullable(),
  node: z.string().nullable(),
  pool: z.string().nullable(),
  /** The term of the scaler that cordoned the worker; null if no scaler did. */
  cordonTerm: count.nullable(),
  engines: z.array(EngineState),
})
export type WorkerHeartbeat = z.infer<typeof WorkerHeartbeat>

export const GatewayHeartbeat = z.object({
  kind: z.literal('gateway'),
  id: z.string(),
  name: z.string(),
})
export type Heartbeat = WorkerHeartbeat | z.infer<typeof GatewayHeartbeat>
export type ProcessKind = Heartbeat['kind']

export const WORKER_BEATS: Signal<WorkerHeartbeat> = {
  channel: () => heartbeatChannel('worker'),
  schema: WorkerHeartbeat,
}
export const BEATS: Readonly<Record<ProcessKind, Signal<Heartbeat>>> = {
  worker: WORKER_BEATS,
  gateway: { channel: () => heartbeatChannel('gateway'), schema: GatewayHeartbeat },
}

/** The pause between two heartbeats of a process. */
export const BEAT_MS = 1_000

/** One engine, with the worker that it belongs to. */
export type ReportedEngine = Omit<WorkerHeartbeat, 'engines'> & EngineState

/** Returns the engines of a worker, each with the worker's own fields. */
export function toReportedEngines({ engines, ...worker }: WorkerHeartbeat): readonly ReportedEngine[] {
  return engines.map((engine) => ({ ...worker, ...engine }))
}
