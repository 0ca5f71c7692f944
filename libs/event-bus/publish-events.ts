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
   * Queues a group of events of one stream for `gateway`: the output of one push of the parser, with all its token ids
   * on the first event. It is published at the end of this event-loop turn; to a late gateway within 25 ms, unless it
   * is `urgent`. A stream's urgent groups must come before its others. Never throws.
   */
  send(gateway: string, group: readonly FrameEntry[], urgent?: boolean): void
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
/** Longer than the steps of most engines, so that two of them are merged; a timer may be 1 ms late. */
const MERGE_MS = 24
const KEEP_MS = 300_000
/** The most bytes of frames that a worker keeps, unless it says otherwise. */
export const KEEP_BYTES = 64 * 1024 * 1024

/**
 * Publishes all events of one event-loop turn for one gateway as one frame: the cost of a message is paid per turn and
 * gateway, not per token. `setImmediate` runs after all sockets of this turn were read, so no event waits for a timer.
 * A frame is split at 256 kB, between groups.
 *
 * To a gateway that is late the events of up to 25 ms are one frame: what such a gateway spends on a token is mostly the
 * writes to its sockets, one for each stream and frame. Urgent groups do not wait and are frames of their own, so that a
 * stream that begins does not make the others' shorter.
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
  isLate?: (gateway: string) => boolean
  onNoSubscriber: (gateway: string) => void
  onPublish: (events: number) => void
  nowMs: () => number
  keepBytes?: number
  log: Logger
}): EventPublisher {
  const { redis, worker, onNoSubscriber, onPublish, nowMs, keepBytes = KEEP_BYTES, log } = options
  const { isLate = () => false } = options
  const kept = createKeptFrames({ keepMs: KEEP_MS, keepBytes, nowMs })
  /** The frames of this turn of the event loop, by gateway. */
  let pending = new Map<string, PendingFrame>()
  /** The frames to late gateways, each with its timer. No frame in `pending` is for the same gateway. */
  const merging = new Map<string, MergingFrame>()
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
    // Frames are not published in the order in which they were started.
    numberFrame(parts, kept.nextNumber(gateway))
    const text = JSON.stringify(parts)
    kept.keep(gateway, text)
    return publish(gateway, text)
  }

  /** Publishes all that is queued for `gateway`. */
  async function publishPending(gateway: string): Promise<void> {
    const frames = [pending.get(gateway), takeMerging(gateway)].filter((frame) => frame !== undefined)
    pending.delete(gateway)
    await Promise.all(frames.map(async (frame) => await publishFrame(gateway, frame)))
  }

  function takeMerging(gateway: string): MergingFrame | undefined {
    const frame = merging.get(gateway)
    clearTimeout(frame?.timer)
    merging.delete(gateway)
    return frame
  }

  /** The frame of this turn for `gateway`, with room for `chars` more. */
  function frameOfTurn(gateway: string, chars: number): PendingFrame {
    const known = pending.get(gateway)
    if (known !== undefined && !isFull(known, chars)) return known
    if (known !== undefined) void publishFrame(gateway, known)
    const frame = newFrame()
    pending.set(gateway, frame)
    if (!scheduled) {
      scheduled = true
      setImmediate(() => void flushTurn())
    }
    return frame
  }

  /** The frame in which the events for a late gateway are merged, with room for `chars` more. */
  function mergingFrame(gateway: string, chars: number): PendingFrame {
    const known = merging.get(gateway)
    if (known !== undefined && !isFull(known, chars)) return known
    if (known !== undefined) void publishPending(gateway)
    const frame = { ...newFrame(), timer: setTimeout(() => void publishPending(gateway), MERGE_MS) }
    merging.set(gateway, frame)
    return frame
  }

  const newFrame = (): PendingFrame => ({ parts: startFrame(worker, 0), chars: 0, events: 0 })

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
    send(gateway, group, urgent = false) {
      let chars = 0
      for (const entry of group) chars += approximateChars(entry)
      const merges = !urgent && isLate(gateway)
      // It is on time again; what waits for it comes first.
      if (!urgent && !merges && merging.has(gateway)) void publishPending(gateway)
      const frame = merges ? mergingFrame(gateway, chars) : frameOfTurn(gateway, chars)
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
      takeMerging(gateway)
      kept.forget(gateway)
    },
    keptBytes: kept.bytes,
    async flush() {
      const gateways = new Set([...pending.keys(), ...merging.keys()])
      await Promise.all(gateways.values().map(publishPending))
    },
  }
}

type PendingFrame = { parts: FrameParts; chars: number; events: number }
type MergingFrame = PendingFrame & { timer: NodeJS.Timeout }

const isFull = (frame: PendingFrame, more: number) => frame.chars > 0 && frame.chars + more > MAX_FRAME_CHARS

/** An estimate, good enough to bound a frame. */
function approximateChars({ event, ids }: FrameEntry): number {
  const text = 'text' in event ? event.text.length : 100
  return 40 + text * 2 + ids.length * 7
}
