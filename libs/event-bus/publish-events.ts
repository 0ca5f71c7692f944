import type { Logger } from '#libs/telemetry/logger.ts'
import { gatewayChannel } from './channels.ts'
import {
  appendEntry,
  encodePulse,
  startFrame,
  type FrameEntry,
  type FrameParts,
  type StreamState,
} from './frame.ts'
import { createKeptFrames } from './kept-frames.ts'

export type EventPublisher = {
  /**
   * Queues a group of events of one stream for `gateway`: all that one push of the parser gave, with all its token ids
   * on the first. It is published at the end of this event-loop turn, in one frame. Never throws.
   */
  send(gateway: string, group: readonly FrameEntry[]): void
  /** Publishes the state of these streams, after the queued events. */
  pulse(gateway: string, streams: readonly StreamState[]): void
  /** The gateway has received all frames up to this number; they are not kept any longer. */
  acknowledge(gateway: string, number: number): void
  /** Publishes the kept frames from this number on again, 4 MiB at most; returns how many. */
  resend(gateway: string, from: number): number
  /** Drops what is queued and kept for a gateway that is dead. */
  forget(gateway: string): void
  /** Bytes of all frames that are kept until they are acknowledged. */
  keptBytes(): number
  /** Publishes the queued events at once; resolves when Redis has answered or failed. */
  flush(): Promise<void>
}

/** Redis disconnects a subscriber whose output buffer grows by much more at once. */
const MAX_FRAME_CHARS = 256 * 1024
/** For the same reason; the gateway asks for the next page once it has read this one. */
const RESEND_PAGE_BYTES = 4 * 1024 * 1024
const KEEP_MS = 300_000
/** The most bytes of frames that a worker keeps, unless it says otherwise. */
export const KEEP_BYTES = 64 * 1024 * 1024

/**
 * Publishes all events of one event-loop turn for one gateway as one frame: the cost of a message is paid per turn and
 * gateway, not per token. `setImmediate` runs after all sockets of this turn were read, so no event waits for a timer.
 * A frame is split at 256 kB, between groups.
 *
 * Frames are kept until the gateway acknowledges them, for 5 min and up to 64 MiB: a publish that failed, or that the
 * gateway did not receive, is repeated when the gateway asks for it.
 *
 * `onNoSubscriber` is called when a message reached no subscriber: the gateway may be dead, and the caller should check
 * its liveness key. `onPublish` is called with the number of events of each frame, when it is published first.
 */
export function createEventPublisher(options: {
  redis: { publish(channel: string, message: string): Promise<number> }
  worker: string
  onNoSubscriber: (gateway: string) => void
  onPublish: (events: number) => void
  nowMs: () => number
  keepBytes?: number
  log: Logger
}): EventPublisher {
  const { redis, worker, onNoSubscriber, onPublish, nowMs, keepBytes = KEEP_BYTES, log } = options
  const kept = createKeptFrames({ keepMs: KEEP_MS, keepBytes, nowMs })
  let pending = new Map<string, PendingFrame>()
  let scheduled = false
  let failures = 0

  function publish(gateway: string, message: string): Promise<void> {
    return redis.publish(gatewayChannel(gateway), message).then(
      (receivers) => {
        if (failures > 0) log.info({ failures }, 'publishing works again')
        failures = 0
        if (receivers === 0) onNoSubscriber(gateway)
      },
      (error: unknown) => {
        // While the bus is away each of thousands of frames fails.
        if (failures === 0) log.warn({ err: error, gateway }, 'publish failed')
        failures += 1
      },
    )
  }

  function publishFrame(gateway: string, { parts, events }: PendingFrame): Promise<void> {
    onPublish(events)
    const text = JSON.stringify(parts)
    kept.keep(gateway, text)
    return publish(gateway, text)
  }

  function publishPending(gateway: string) {
    const frame = pending.get(gateway)
    if (frame === undefined) return
    pending.delete(gateway)
    void publishFrame(gateway, frame)
  }

  function publishPulse(gateway: string, streams: readonly StreamState[]) {
    const firstKept = kept.firstKept(gateway)
    const lastNumber = kept.lastNumber(gateway)
    void publish(gateway, encodePulse({ worker, firstKept, lastNumber, streams }))
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
    send(gateway, group) {
      let chars = 0
      for (const entry of group) chars += approximateChars(entry)
      let frame = pending.get(gateway)
      if (frame !== undefined && frame.chars + chars > MAX_FRAME_CHARS) {
        publishPending(gateway)
        frame = undefined
      }
      if (frame === undefined) {
        frame = { parts: startFrame(worker, kept.nextNumber(gateway)), chars: 0, events: 0 }
        pending.set(gateway, frame)
      }
      for (const entry of group) appendEntry(frame.parts, entry)
      frame.chars += chars
      frame.events += group.length
      if (!scheduled) {
        scheduled = true
        setImmediate(() => void flush())
      }
    },
    pulse(gateway, streams) {
      // The events that the pulse counts must be published before it.
      publishPending(gateway)
      publishPulse(gateway, streams)
    },
    acknowledge: kept.drop,
    resend(gateway, from) {
      publishPending(gateway)
      // It shows the gateway that what comes before is gone.
      if (from < kept.firstKept(gateway)) publishPulse(gateway, [])
      let frames = 0
      let bytes = 0
      for (const text of kept.from(gateway, from)) {
        if (bytes >= RESEND_PAGE_BYTES) {
          // It arrives after the page, and shows the gateway what is still missing.
          publishPulse(gateway, [])
          break
        }
        void publish(gateway, text)
        frames += 1
        bytes += Buffer.byteLength(text)
      }
      return frames
    },
    forget(gateway) {
      pending.delete(gateway)
      kept.forget(gateway)
    },
    keptBytes: kept.bytes,
    flush,
  }
}

type PendingFrame = { parts: FrameParts; chars: number; events: number }

/** An estimate, good enough to bound a frame. */
function approximateChars({ event, ids }: FrameEntry): number {
  const text = 'text' in event ? event.text.length : 100
  return 40 + text * 2 + ids.length * 7
}
