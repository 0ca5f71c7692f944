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
   * event has all token ids of that push. The group is published at the end of this event-loop turn. For a late gateway
   * it is published within 25 ms, unless it is `urgent`. A stream's urgent groups must come before its other groups.
   * Never throws.
   */
  send(gateway: string, group: readonly FrameEntry[], urgent?: boolean): void
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
/**
 * The time for which events for a late gateway are merged. It is longer than one step of most engines, so that the
 * events of two steps are in one frame. A timer may be 1 ms late, so events wait for up to 25 ms.
 */
const MERGE_MS = 24
const KEEP_MS = 300_000
/** The most bytes of frames that a worker keeps by default. */
export const KEEP_BYTES = 64 * 1024 * 1024

/**
 * Publishes all events of one event-loop turn for one gateway as one frame: the cost of a message is paid per turn and
 * gateway, not per token. `setImmediate` runs after all sockets of this turn were read, so no event waits for a timer.
 * Before a frame would grow beyond 256 kB, a new frame begins; the events of one call of `send` (a group) stay
 * together.
 *
 * For a gateway whose event loop is late (`isLate`), the events of up to 25 ms are merged into one frame. The reason is
 * that a gateway writes once to each stream's socket for each frame, and these writes are most of its work for a token.
 * A group that is sent as `urgent` is not merged: it is published in the frame of its event-loop turn. This does not
 * end the merging of other groups. The caller sends a stream's groups up to the first output as `urgent`.
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
  /** The frames of this event-loop turn, by gateway. */
  let pending = new Map<string, PendingFrame>()
  /** The frames for late gateways, each with its timer. A gateway that has a frame here has none in `pending`. */
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
        // Only the first failure is logged, because each of thousands of frames fails while the bus is away.
        if (failures === 0) log.warn({ err: error, gateway }, 'publish failed')
        failures += 1
      },
    )
  }

  function publishFrame(gateway: string, { parts, events }: PendingFrame): Promise<void> {
    onPublish(events)
    // Frames are numbered now, because they are not published in the order in which they were started.
    numberFrame(parts, kept.nextNumber(gateway))
    const text = JSON.stringify(parts)
    kept.keep(gateway, text)
    return publish(gateway, text)
  }

  /** Publishes everything that is queued for `gateway`. */
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

  /** Returns the frame of this turn for `gateway`, with room for `chars` more. */
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

  /** Returns the frame in which the events for a late gateway are merged, with room for `chars` more. */
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
      // The gateway is on time again, so its merged events are published before the new group.
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
  return 40 + approximateLength(event) + ids.length * 7
}

function approximateLength(event: FrameEntry['event']): number {
  if ('text' in event) return event.text.length * 2
  if (event.type !== 'token-logprobs' && event.type !== 'prompt-logprobs') return 200
  return event.tokens.reduce((sum: number, { top }) => sum + (1 + top.length) * LOGPROB_CHARS, 0)
}

/** Most tokens have a text of few characters, and a log probability has up to 20 digits. */
const LOGPROB_CHARS = 32
