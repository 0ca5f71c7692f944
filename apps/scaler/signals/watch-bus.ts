import type { Redis } from 'ioredis'
import { z } from 'zod'
import { publishSignal, subscribeSignal, type Signal } from '#libs/event-bus/scaling-signals.ts'
import { KEY_PREFIX } from '#libs/generation-record/keys.ts'
import type { Logger } from '#libs/telemetry/logger.ts'

/** The connections to one server of the bus. */
export type BusServer = { readonly bus: Redis; readonly subscriber: Redis }

/** What scalers of one name send each other. `wrote`: the sender has just written a snapshot. */
const Beat = z.object({ id: z.string(), wrote: z.boolean() })
type Beat = z.infer<typeof Beat>

export type BusWatch = {
  /** Sends a beat on every server of the bus; with `wrote` after each snapshot. */
  beat(wrote: boolean): void
  /** Since the oldest of the servers returned an own beat, in ms; Infinity before every one has. */
  silentMs(): number
}

/**
 * Watches whether this process receives what is sent on the bus: on each server by the echo of its own beats. Without
 * them, the silence of gateways and workers says nothing about load. `onWritten` is called when another scaler wrote a
 * snapshot.
 */
export async function watchBus(options: {
  servers: readonly BusServer[]
  /** Of the scaler. */
  name: string
  /** Boot id. */
  self: string
  onWritten: () => void
  nowMs: () => number
  log: Logger
}): Promise<BusWatch> {
  const { servers, name, self, onWritten, nowMs, log } = options
  const signal: Signal<Beat> = { channel: `${KEY_PREFIX}scaler:${name}`, schema: Beat }
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
