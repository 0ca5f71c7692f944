import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import { appendEvent, toEvent } from './event-codecs.ts'
import { FrameError, readArray, readNumber, readText } from './frame-values.ts'

/**
 * A frame is one pub/sub message from one worker to one gateway: many events of many generations, as one flat JSON
 * array. An array of objects would take 31 instead of 20 bytes per token, and longer to read.
 *
 *   [ KIND, worker, (stream, epoch, seq, code, value, ids)* ]
 *
 * `stream` is the gateway's number for the generation, `seq` counts a stream's events within an epoch from 1, `code`
 * and `value` are the event (event-codecs.ts), `ids` are the raw token ids that came with it: a stream's ids together
 * are its engine's output.
 */
export type FrameEntry = {
  readonly stream: number
  readonly epoch: number
  readonly seq: number
  readonly event: GenerationEvent
  readonly ids: readonly number[]
}

export type Frame = { readonly worker: string; readonly entries: readonly FrameEntry[] }

/**
 * Each second a worker publishes to every gateway that it serves how far its streams are. So the gateway notices when
 * the last frame of a stream was lost, and when the worker does not know a stream.
 */
export type Pulse = {
  readonly worker: string
  readonly streams: readonly StreamState[]
}

export type StreamState = {
  readonly stream: number
  readonly epoch: number
  readonly lastSeq: number
  /** False for a short while after its end. */
  readonly running: boolean
}

/** A message on a gateway's channel. */
export type GatewayMessage = ({ kind: 'frame' } & Frame) | ({ kind: 'pulse' } & Pulse)

const FRAME = 0
const PULSE = 1
const FRAME_STRIDE = 6
const PULSE_STRIDE = 4

/** The elements of a frame's array. */
export type FrameParts = unknown[]

export function startFrame(worker: string): FrameParts {
  return [FRAME, worker]
}

export function appendEntry(parts: FrameParts, { stream, epoch, seq, event, ids }: FrameEntry): void {
  parts.push(stream, epoch, seq)
  appendEvent(parts, event)
  parts.push(ids)
}

export function encodePulse(pulse: Pulse): string {
  const parts: unknown[] = [PULSE, pulse.worker]
  for (const { stream, epoch, lastSeq, running } of pulse.streams) {
    parts.push(stream, epoch, lastSeq, running ? 1 : 0)
  }
  return JSON.stringify(parts)
}

/** Throws a FrameError for any other text. */
export function decodeGatewayMessage(text: string): GatewayMessage {
  const parts = parseArray(text)
  const worker = readText(parts[1])
  if (parts[0] === FRAME) {
    const entries: FrameEntry[] = []
    for (let at = 2; at < parts.length; at += FRAME_STRIDE) entries.push(readEntry(parts, at, worker))
    return { kind: 'frame', worker, entries }
  }
  if (parts[0] === PULSE) {
    const streams: StreamState[] = []
    for (let at = 2; at < parts.length; at += PULSE_STRIDE) {
      streams.push({
        stream: readNumber(parts[at]),
        epoch: readNumber(parts[at + 1]),
        lastSeq: readNumber(parts[at + 2]),
        running: readNumber(parts[at + 3]) === 1,
      })
    }
    return { kind: 'pulse', worker, streams }
  }
  throw new FrameError(`unknown kind ${String(parts[0])}`)
}

function readEntry(parts: readonly unknown[], at: number, worker: string): FrameEntry {
  return {
    stream: readNumber(parts[at]),
    epoch: readNumber(parts[at + 1]),
    seq: readNumber(parts[at + 2]),
    event: toEvent(parts[at + 3], parts[at + 4], worker),
    ids: readIds(parts[at + 5]),
  }
}

/** Its elements are not checked: there may be thousands in a message. */
function readIds(value: unknown): readonly number[] {
  if (!Array.isArray(value)) throw new FrameError(`token ids were expected, not ${typeof value}`)
  return value
}

function parseArray(text: string): readonly unknown[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new FrameError(String(error))
  }
  return readArray(value)
}
