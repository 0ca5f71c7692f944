import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import { appendEvent, toEvent, type Unreadable } from './event-codecs.ts'
import { FrameError, readArray, readNumber, readText } from './frame-values.ts'

/**
 * A frame is one pub/sub message from one worker to one gateway: many events of many generations, as one flat JSON
 * array. An array of objects would take 31 instead of 20 bytes per token, and would take longer to read.
 *
 *   [ KIND, worker, number, (stream, epoch, seq, code, value, ids)* ]
 *
 * `number` counts the frames from this worker to this gateway from 1: a missing number is a lost frame, which the
 * worker publishes again when it is asked to. `stream` is the gateway's number for the generation, `seq` counts a
 * stream's events within an epoch from 1, `code` and `value` are the event (event-codecs.ts), `ids` are the raw token
 * ids that came with the event. All ids of a stream together are the output of its engine.
 */
export type FrameEntry = {
  readonly stream: number
  readonly epoch: number
  readonly seq: number
  readonly event: GenerationEvent
  readonly ids: readonly number[]
}

/** An entry as it arrived; another release may have sent it with an event that is unknown here. */
export type ReceivedEntry = Omit<FrameEntry, 'event'> & { readonly event: GenerationEvent | Unreadable }

export type Frame = {
  readonly worker: string
  readonly number: number
  readonly entries: readonly ReceivedEntry[]
}

/**
 * Once a second a worker sends a pulse to each gateway for which it has streams to list. The pulse has the numbers of
 * the worker's first kept frame and last frame. It lists the running streams that have had no event since the previous
 * second and, in some of the pulses, the ended streams; each stream with its last seq. If a gateway asks a worker about
 * certain streams, the worker answers with a pulse that lists them.
 *
 *   [ KIND, worker, firstKept, lastNumber, (stream, epoch, lastSeq, state)* ]
 *
 * From a pulse the gateway notices that the last frame of a stream was lost, or that the worker does not know a stream.
 * If a pulse does not list a stream, this says nothing about the stream.
 */
export type Pulse = {
  readonly worker: string
  /** The lowest number of a frame that can still be sent again; `lastNumber` + 1 when there is none. */
  readonly firstKept: number
  /** The number of the last frame that was published before this pulse; 0 before the first frame. */
  readonly lastNumber: number
  readonly streams: readonly StreamState[]
}

export type StreamState = {
  readonly stream: number
  readonly epoch: number
  readonly lastSeq: number
  /** `claiming`: the worker repeats a claim that may have been for this stream. */
  readonly state: (typeof STREAM_STATES)[number]
}

/** The index of a state is its code in a pulse. */
const STREAM_STATES = ['ended', 'running', 'claiming', 'unknown'] as const

/** A message on a gateway's channel. */
export type GatewayMessage = ({ kind: 'frame' } & Frame) | ({ kind: 'pulse' } & Pulse)

const FRAME = 0
const PULSE = 1
const FRAME_STRIDE = 6
const PULSE_STRIDE = 4
const FRAME_START = 3
const PULSE_START = 4

/** The elements of a frame's array. */
export type FrameParts = unknown[]

export function startFrame(worker: string, number: number): FrameParts {
  return [FRAME, worker, number]
}

/** Replaces the frame's number, which `startFrame` set. */
export function numberFrame(parts: FrameParts, number: number): void {
  parts[2] = number
}

export function appendEntry(parts: FrameParts, { stream, epoch, seq, event, ids }: FrameEntry): void {
  parts.push(stream, epoch, seq)
  appendEvent(parts, event)
  parts.push(ids)
}

export function encodePulse({ worker, firstKept, lastNumber, streams }: Pulse): string {
  const parts: unknown[] = [PULSE, worker, firstKept, lastNumber]
  for (const { stream, epoch, lastSeq, state } of streams) {
    parts.push(stream, epoch, lastSeq, STREAM_STATES.indexOf(state))
  }
  return JSON.stringify(parts)
}

/**
 * Decodes a frame or a pulse. Throws a FrameError for any other text. An entry of a frame is left out if its stream,
 * epoch or seq is not a number, because its stream cannot be known. The missing entry is a gap in its stream, so only
 * that stream fails.
 */
export function decodeGatewayMessage(text: string): GatewayMessage {
  const parts = parseArray(text)
  const worker = readText(parts[1])
  if (parts[0] === FRAME) return { kind: 'frame', worker, ...readFrame(parts, worker) }
  if (parts[0] === PULSE) return { kind: 'pulse', worker, ...readPulse(parts) }
  throw new FrameError(`unknown kind ${String(parts[0])}`)
}

function readFrame(parts: readonly unknown[], worker: string) {
  const entries: ReceivedEntry[] = []
  for (let at = FRAME_START; at < parts.length; at += FRAME_STRIDE) {
    const stream = parts[at]
    const epoch = parts[at + 1]
    const seq = parts[at + 2]
    if (typeof stream !== 'number' || typeof epoch !== 'number' || typeof seq !== 'number') continue
    const ids: unknown = parts[at + 5]
    // The elements are not checked, because a message may have thousands of them.
    if (Array.isArray(ids)) {
      entries.push({ stream, epoch, seq, event: toEvent(parts[at + 3], parts[at + 4], worker), ids })
    } else {
      entries.push({ stream, epoch, seq, event: { type: 'unreadable', code: parts[at + 3] }, ids: [] })
    }
  }
  return { number: readNumber(parts[2]), entries }
}

function readPulse(parts: readonly unknown[]) {
  const streams: StreamState[] = []
  for (let at = PULSE_START; at < parts.length; at += PULSE_STRIDE) {
    const state = STREAM_STATES[readNumber(parts[at + 3])]
    // A stream whose state only another release knows is left out.
    if (state === undefined) continue
    streams.push({
      stream: readNumber(parts[at]),
      epoch: readNumber(parts[at + 1]),
      lastSeq: readNumber(parts[at + 2]),
      state,
    })
  }
  return { firstKept: readNumber(parts[2]), lastNumber: readNumber(parts[3]), streams }
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
