import type { Redis } from 'ioredis'
import type { Logger } from '#libs/telemetry/logger.ts'
import { gatewayChannel } from './channels.ts'
import {
  appendEntry,
  encodePulse,
  startFrame,
  type FrameEntry,
  type FrameParts,
  type Pulse,
} from './frame.ts'

export type EventPublisher = {
  /** Queues an event for `gateway`; it is published at the end of this event-loop turn. Never throws. */
  send(gateway: string, entry: FrameEntry): void
  pulse(gateway: string, streams: Pulse['streams']): void
  /** Publishes the queued events at once; resolves when Redis has answered or failed. */
  flush(): Promise<void>
}

/** Redis disconnects a subscriber whose output buffer grows by much more at once. */
const MAX_FRAME_CHARS = 256 * 1024

/**
 * Publishes all events of one event-loop turn for one gateway as one frame: the cost of a message is paid per turn and
 * gateway, not per token. `setImmediate` runs after all sockets of this turn were read, so no event waits for a timer.
 * A frame is split at 256 kB.
 *
 * `onNoSubscriber` is called when a message reached no subscriber: the gateway may be dead, and the caller should check
 * its liveness key. A failed publish loses its events; the gateway notices the gap in `seq`.
 */
export function createEventPublisher(options: {
  redis: Redis
  worker: string
  onNoSubscriber: (gateway: string) => void
  onPublish: (events: number) => void
  log: Logger
}): EventPublisher {
  const { redis, worker, onNoSubscriber, onPublish, log } = options
  let pending = new Map<string, PendingFrame>()
  let scheduled = false

  function publish(gateway: string, message: string): Promise<void> {
    return redis.publish(gatewayChannel(gateway), message).then(
      (receivers) => {
        if (receivers === 0) onNoSubscriber(gateway)
      },
      (error: unknown) => log.warn({ err: error, gateway }, 'publish failed'),
    )
  }

  function publishFrame(gateway: string, frame: PendingFrame): Promise<void> {
    onPublish(frame.events)
    return publish(gateway, JSON.stringify(frame.parts))
  }

  async function flush() {
    scheduled = false
    const frames = pending
    pending = new Map()
    const published = []
    for (const [gateway, frame] of frames) published.push(publishFrame(gateway, frame))
    await Promise.all(published)
  }

  return {
    send(gateway, entry) {
      let frame = pending.get(gateway)
      const chars = approximateChars(entry)
      if (frame !== undefined && frame.chars + chars > MAX_FRAME_CHARS) {
        void publishFrame(gateway, frame)
        frame = undefined
      }
      if (frame === undefined) {
        frame = { parts: startFrame(worker), chars: 0, events: 0 }
        pending.set(gateway, frame)
      }
      appendEntry(frame.parts, entry)
      frame.chars += chars
      frame.events += 1
      if (!scheduled) {
        scheduled = true
        setImmediate(() => void flush())
      }
    },
    pulse(gateway, streams) {
      // The events that the pulse counts must be published before it.
      const frame = pending.get(gateway)
      if (frame !== undefined) {
        pending.delete(gateway)
        void publishFrame(gateway, frame)
      }
      void publish(gateway, encodePulse({ worker, streams }))
    },
    flush,
  }
}

type PendingFrame = { parts: FrameParts; chars: number; events: number }

/** An estimate, good enough to bound a frame. */
function approximateChars({ event, ids }: FrameEntry): number {
  const text = 'text' in event ? event.text.length : 100
  return 40 + text * 2 + ids.length * 7
}
