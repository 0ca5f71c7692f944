import { z } from 'zod'

const FIELDS = {
  /** The listener is closed and open connections get GOAWAY: connecting is refused. */
  refuseConnections: z.boolean(),
  /**
   * The engine core is dead: every call ends with INTERNAL, health checks fail, and the process goes on. `false`
   * restarts the core.
   */
  dead: z.boolean(),
  /** The core dies amid its streams, after this many more tokens. */
  diesAfterTokens: z.int().positive().nullable(),
  /** The core dies when it computes a sequence whose prompt or output contains this text. */
  poison: z.string().min(1).max(1_000).nullable(),
  /** How many more tokens the call with the poison gives before the core dies. */
  poisonAfterTokens: z.int().min(0),
  /**
   * A core that died of another fault than `dead` starts again after this time. If this field is null, the core starts
   * again only when `dead` is set and cleared.
   */
  restartAfterMs: z.int().min(0).max(600_000).nullable(),
  /** No step completes, while health checks and all other calls succeed. */
  hangs: z.boolean(),
  /** How long each start takes before the engine listens, in milliseconds. */
  startDelayMs: z.int().min(0).max(600_000),
  /**
   * How long each start continues after the engine listens, in milliseconds: it answers questions about itself, reports
   * that it is not healthy, and generates nothing.
   */
  loadMs: z.int().min(0).max(600_000),
  /** Steps take this many times as long. */
  slowness: z.number().positive(),
}

/** The faults of an engine. */
export const FaultSettings = z.strictObject({
  refuseConnections: FIELDS.refuseConnections.default(false),
  dead: FIELDS.dead.default(false),
  diesAfterTokens: FIELDS.diesAfterTokens.default(null),
  poison: FIELDS.poison.default(null),
  poisonAfterTokens: FIELDS.poisonAfterTokens.default(0),
  restartAfterMs: FIELDS.restartAfterMs.default(null),
  hangs: FIELDS.hangs.default(false),
  startDelayMs: FIELDS.startDelayMs.default(0),
  loadMs: FIELDS.loadMs.default(0),
  slowness: FIELDS.slowness.default(1),
})
export type FaultSettings = z.infer<typeof FaultSettings>

/** The body of POST /faults: the settings to change, on one engine (by listen address or model) or on all. */
export const FaultChange = z.strictObject({ engine: z.string(), ...FIELDS }).partial()
export type FaultChange = z.infer<typeof FaultChange>
