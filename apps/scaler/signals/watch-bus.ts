import { z } from 'zod'
import {
  publishSignal,
  subscribeSignal,
  type BusServer,
  type Signal,
} from '#libs/event-bus/scaling-signals.ts'
import { keyPrefix } from '#libs/queue-redis/keys.ts'
import type { Logger } from '#libs/telemetry/logger.ts'

/** The message that scalers with the same name send each other. `wrote`: the sender has just written a snapshot. */
const Beat = z.object({ id: z.string(), wrote: z.boolean() })
type Beat = z.infer<typeof Beat>

export type BusWatch = {
  /** Sends a beat on every server of the bus. `wrote` is true after a snapshot was written. */
  beat(wrote: boolean): void
  /**
   * For each server of the bus, takes the time since a beat of this process last came back. Returns the longest of
   * these times in ms; Infinity until a beat has come back over every server.
   */
  silentMs(): number
}

/**
 * Detects a lost connection to a server of the bus. This process publishes beats on every server and is subscribed to
 * them, so it receives its own beats while a connection works. Without these beats, silence could mean either a lost
 * connection, or gateways and workers that send nothing. `onWritten` is called when another scaler's beat reports a
 * written snapshot.
 */
export async function watchBus(options: {
  servers: readonly BusServer[]
  /** The scaler's name. */
  name: string
  /** The boot id of this process. */
  self: string
  onWritten: () => void
  nowMs: () => number
  log: Logger
}): Promise<BusWatch> {
  const { servers, name, self, onWritten, nowMs, log } = options
  const signal: Signal<Beat> = { channel: () => `${keyPrefix()}scaler:${name}`, schema: Beat }
  const echoes = servers.map(() => -Infinity)
  await Promise.all(
    servers.map(async ({ subscriber }, index) => {
      await subscribeSignal({ subscriber, log }, signal, ({ id, wrote }) => {
        if (id === self) echoes[index] = nowMs()
        else if (wrote) onWritten()
      })
    }),
  )
  return {
    beat(wrote) {
      for (const { bus } of servers) void publishSignal({ redis: bus, log }, signal, { id: self, wrote })
    },
    silentMs: () => nowMs() - Math.min(...echoes),
  }
}
