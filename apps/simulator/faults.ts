import { z } from 'zod'

/** What an engine can be told to get wrong. */
export const FaultSettings = z.strictObject({
  /** The listener is closed and open connections are asked to go: connecting is refused. */
  refuseConnections: z.boolean().default(false),
  /** The engine core is dead: every call INTERNAL, health bad, the process stays. False starts it again. */
  dead: z.boolean().default(false),
  /** It dies in the middle of its streams, after this many more tokens. */
  diesAfterTokens: z.int().positive().nullable().default(null),
  /** No step completes, while health and all else stay good. */
  hangs: z.boolean().default(false),
  /** How long each start takes before it listens, in milliseconds. */
  startDelayMs: z.int().min(0).max(600_000).default(0),
  /** Steps take this many times as long. */
  slowness: z.number().positive().default(1),
})
export type FaultSettings = z.infer<typeof FaultSettings>

/** The body of POST /faults: the settings to change, on one engine (by listen address or model) or on all. */
export const FaultChange = z.strictObject({
  engine: z.string().optional(),
  refuseConnections: z.boolean().optional(),
  dead: z.boolean().optional(),
  diesAfterTokens: z.int().positive().nullable().optional(),
  hangs: z.boolean().optional(),
  startDelayMs: z.int().min(0).max(600_000).optional(),
  slowness: z.number().positive().optional(),
})
export type FaultChange = z.infer<typeof FaultChange>
