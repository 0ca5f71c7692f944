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
   * The number of tokens, of prompts and outputs together, that one slot processes in a second. It is null until a
   * generation has ended, and null if the worker runs an earlier release, which does not send the field.
   */
  slotTokensPerS: z.number().nullable().default(null),
  /** The engine's context window in tokens. */
  contextWindow: z.int(),
  /** True if the worker claims when it is asked to look; absent if the worker runs an earlier release. */
  looks: z.boolean().optional(),
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
