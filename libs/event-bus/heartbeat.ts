import { z } from 'zod'
import { FORM } from '#libs/queue-redis/keys.ts'

/** The part of a worker's heartbeat that describes one engine. */
export const EngineState = z.object({
  model: z.string(),
  /**
   * True if the worker pulls generations: the engine is healthy, the worker is neither stopping nor cordoned, and the
   * model's queue is not paused.
   */
  ready: z.boolean(),
  slots: z.int(),
  running: z.int(),
  /** Mean time from claim to end of the last generations; null until a generation has ended. */
  meanGenerationMs: z.number().nullable(),
  /**
   * The number of tokens, of prompts and outputs together, that one slot processes in a second; null until a generation
   * has ended.
   */
  slotTokensPerS: z.number().nullable(),
  /** The engine's context window in tokens. */
  contextWindow: z.int(),
  /** The name of the format in which the model writes tool calls. */
  callFormat: z.string().optional(),
})
export type EngineState = z.infer<typeof EngineState>

/** Heartbeats of other forms are ignored, and so are unknown fields. */
export const Heartbeat = z.object({
  id: z.string(),
  form: z.literal(FORM),
  kind: z.enum(['gateway', 'worker']),
  /** The process's name for operators; not unique. */
  name: z.string(),
  engines: z.array(EngineState),
  /** True for a gateway whose event loop is late. Workers then merge the events that they send to this gateway. */
  late: z.boolean().default(false),
})
export type Heartbeat = z.infer<typeof Heartbeat>
export type ProcessKind = Heartbeat['kind']

/** The pause between two heartbeats of a process. */
export const BEAT_MS = 1_000

/** Returns null for text that is not a heartbeat of this form and of a known kind of process. */
export function readHeartbeat(text: string): Heartbeat | null {
  try {
    return Heartbeat.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}
