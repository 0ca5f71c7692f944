import { z } from 'zod'
import { FORM } from '#libs/generation-record/keys.ts'

/** The part of a worker's heartbeat that describes one engine. */
export const EngineState = z.object({
  model: z.string(),
  /** Pulls generations: its engine is healthy, it is not stopping, and the queue of its model is not paused. */
  ready: z.boolean(),
  slots: z.int(),
  running: z.int(),
  /** Mean time from claim to end of the last generations; null before the first one ended. */
  meanGenerationMs: z.number().nullable(),
  /** In tokens. */
  contextWindow: z.int(),
  /** The name of the format in which the model writes tool calls. */
  callFormat: z.string().optional(),
})
export type EngineState = z.infer<typeof EngineState>

/** Heartbeats of other forms are ignored, and so are fields that are not known. */
export const Heartbeat = z.object({
  id: z.string(),
  form: z.literal(FORM),
  kind: z.enum(['gateway', 'worker']),
  /** For operators; not unique. */
  name: z.string(),
  engines: z.array(EngineState),
  /** A gateway whose event loop is late: workers merge what they send it. */
  late: z.boolean().default(false),
})
export type Heartbeat = z.infer<typeof Heartbeat>
export type ProcessKind = Heartbeat['kind']

/** Between two heartbeats of a process. */
export const BEAT_MS = 1_000

/** Null for what another form, or another kind of process, sends. */
export function readHeartbeat(text: string): Heartbeat | null {
  try {
    return Heartbeat.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}
