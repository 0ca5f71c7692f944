import type { Logger } from '#libs/telemetry/logger.ts'
import { gatewayChannel } from './channels.ts'
import {
  appendEntry,
  encodePulse,
  numberFrame,
  startFrame,
  type FrameEntry,
  type FrameParts,
  type StreamState,
} from './frame.ts'
import { createKeptFrames } from './kept-frames.ts'

export type EventPublisher = {
  /**
   * Queues a group of events of one stream for `gateway`. A group is the output of one push of the parser. Its first
   * event has all token ids of that push. The group is published at the end of this event-loop turn. Never throws.
   */
  send(gateway: string, group: readonly FrameEntry[]): void
  /** Publishes the state of these streams, after the queued events. */
  pulse(gateway: string, streams: readonly StreamState[]): void
  /** Drops the kept frames up to this number, because the gateway has received them. */
  acknowledge(gateway: string, number: number): void
  /** Publishes the kept frames from this number on again, 4 MiB at most. Returns the number of frames. */
  resend(gateway: string, from: number): number
  /** Drops the queued events and kept frames of a gateway that is dead. */
  forget(gateway: string): void
  /** Returns the bytes of all frames that are kept until they are acknowledged. */
  keptBytes(): number
  /** Publishes the queued events at once; resolves when Redis has answered or failed. */
  flush(): Promise<void>
}

/** The most characters of a frame. Redis disconnects a subscriber whose output buffer suddenly grows by much more. */
const MAX_FRAME_CHARS = 256 * 1024
/**
 * The size of a page: when a gateway asks for kept frames, about this many bytes of them are published at once. The
 * gateway asks for the next page after it has read one. So Redis never has to buffer more than about one page of kept
 * frames for the gateway's connection.
 */
const RESEND_PAGE_BYTES = 4 * 1024 * 1024
const KEEP_MS = 300_000
/** The most bytes of frames that a worker keeps by default. */
export const KEEP_BYTES = 64 * 1024 * 1024

/**
 * Publishes all events of one event-loop turn for one gateway as one frame: the cost of a message is paid per turn and
 * gateway, not per token. `setImmediate` runs after all sockets of this turn were read, so no event waits for a timer.
 * Before a frame would grow beyond 256 kB, a new frame begins; the events of one call of `send` (a group) stay
 * together.
 *
 * Frames are kept until the gateway acknowledges them, for 5 min and up to 64 MiB. A publish that failed, or that the
 * gateway did not receive, is repeated when the gateway asks for it.
 *
 * `onNoSubscriber` is called when a message reached no subscriber: the gateway may be dead, and the caller should check
 * its liveness key. `onPublish` is called with the number of events of each frame when the frame is first published.
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
  /** The frames of this event-loop turn, by gateway. */
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
        // Only the first failure is logged, because each of thousands of frames fails while the bus is away.
        if (failures === 0) log.warn({ err: error, gateway }, 'publish failed')
        failures += 1
      },
    )
  }

  function publishFrame(gateway: string, { parts, events }: PendingFrame): Promise<void> {
    onPublish(events)
    numberFrame(parts, kept.nextNumber(gateway))
    const text = JSON.stringify(parts)
    kept.keep(gateway, text)
    return publish(gateway, text)
  }

  /** Publishes everything that is queued for `gateway`. */
  async function publishPending(gateway: string): Promise<void> {
    const frame = pending.get(gateway)
    pending.delete(gateway)
    if (frame !== undefined) await publishFrame(gateway, frame)
  }

  /** Returns the frame of this turn for `gateway`, with room for `chars` more. */
  function frameOfTurn(gateway: string, chars: number): PendingFrame {
    const known = pending.get(gateway)
    if (known !== undefined && !isFull(known, chars)) return known
    if (known !== undefined) void publishFrame(gateway, known)
    const frame: PendingFrame = { parts: startFrame(worker, 0), chars: 0, events: 0 }
    pending.set(gateway, frame)
    if (!scheduled) {
      scheduled = true
      setImmediate(() => void flushTurn())
    }
    return frame
  }

  function publishPulse(gateway: string, streams: readonly StreamState[]) {
    const firstKept = kept.firstKept(gateway)
    const lastNumber = kept.lastNumber(gateway)
    void publish(gateway, encodePulse({ worker, firstKept, lastNumber, streams }))
  }

  async function flushTurn() {
    scheduled = false
    const frames = pending
    pending = new Map()
    await Promise.all(frames.entries().map(async ([gateway, frame]) => await publishFrame(gateway, frame)))
  }

  return {
    send(gateway, group) {
      let chars = 0
      for (const entry of group) chars += approximateChars(entry)
      const frame = frameOfTurn(gateway, chars)
      for (const entry of group) appendEntry(frame.parts, entry)
      frame.chars += chars
      frame.events += group.length
    },
    pulse(gateway, streams) {
      // The events that the pulse counts must be published before it.
      void publishPending(gateway)
      publishPulse(gateway, streams)
    },
    acknowledge: kept.drop,
    resend(gateway, from) {
      void publishPending(gateway)
      // The pulse shows the gateway that the frames before the first kept one are gone.
      if (from < kept.firstKept(gateway)) publishPulse(gateway, [])
      let frames = 0
      let bytes = 0
      for (const text of kept.from(gateway, from)) {
        if (bytes >= RESEND_PAGE_BYTES) {
          // The pulse arrives after this page and shows the gateway which frames are still missing.
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
    async flush() {
      await Promise.all([...pending.keys()].map(publishPending))
    },
  }
}

type PendingFrame = { parts: FrameParts; chars: number; events: number }

const isFull = (frame: PendingFrame, more: number) => frame.chars > 0 && frame.chars + more > MAX_FRAME_CHARS

/** An estimate, good enough to bound a frame. */
function approximateChars({ event, ids }: FrameEntry): number {
  return 40 + approximateLength(event) + ids.length * 7
}

function approximateLength(event: FrameEntry['event']): number {
  if ('text' in event) return event.text.length * 2
  if (event.type !== 'token-logprobs' && event.type !== 'prompt-logprobs') return 200
  return event.tokens.reduce((sum: number, { top }) => sum + (1 + top.length) * LOGPROB_CHARS, 0)
}

/** Most tokens have a text of few characters, and a log probability has up to 20 digits. */
const LOGPROB_CHARS = 32
