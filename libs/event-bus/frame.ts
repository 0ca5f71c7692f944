import type { GenerationEvent } from '#libs/contracts/generation-event.ts'

/**
 * A frame is one pub/sub message from one worker to one gateway: many events of many generations, as one flat
 * JSON array. Flat, because an array of objects costs half as much again in bytes (31 instead of 20 per token)
 * and more to read.
 *
 *   [ KIND, worker, (stream, epoch, seq, code, value, ids)* ]
 *
 * `stream` is the gateway's number for the generation, `seq` counts a stream's events within an epoch from 1,
 * `ids` are the raw token ids that this event brought: all of a stream's ids together are what its engine
 * generated.
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
 * Each second a worker tells every gateway that it serves where its streams stand, so that a lost last frame
 * is noticed, and a stream that the worker does not know.
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

/** What arrives on a gateway's channel. */
export type GatewayMessage = ({ kind: 'frame' } & Frame) | ({ kind: 'pulse' } & Pulse)

const FRAME = 0
const PULSE = 1
const FRAME_STRIDE = 6
const PULSE_STRIDE = 4

/** The parts of a frame in the order in which they are written. */
export type FrameParts = unknown[]

export function startFrame(worker: string): FrameParts {
  return [FRAME, worker]
}

export function appendEvent(parts: FrameParts, entry: FrameEntry): void {
  const { event } = entry
  parts.push(entry.stream, entry.epoch, entry.seq, CODES[event.type], toValue(event), entry.ids)
}

export function encodePulse(pulse: Pulse): string {
  const parts: unknown[] = [PULSE, pulse.worker]
  for (const { stream, epoch, lastSeq, running } of pulse.streams) {
    parts.push(stream, epoch, lastSeq, running ? 1 : 0)
  }
  return JSON.stringify(parts)
}

/** Throws a FrameError for anything that is not a message of ours. */
export function decodeGatewayMessage(text: string): GatewayMessage {
  const parts = parseArray(text)
  const worker = readString(parts, 1)
  if (parts[0] === FRAME) {
    const entries: FrameEntry[] = []
    for (let at = 2; at < parts.length; at += FRAME_STRIDE) entries.push(readEntry(parts, at))
    return { kind: 'frame', worker, entries }
  }
  if (parts[0] === PULSE) {
    const streams: StreamState[] = []
    for (let at = 2; at < parts.length; at += PULSE_STRIDE) {
      streams.push({
        stream: readNumber(parts, at),
        epoch: readNumber(parts, at + 1),
        lastSeq: readNumber(parts, at + 2),
        running: readNumber(parts, at + 3) === 1,
      })
    }
    return { kind: 'pulse', worker, streams }
  }
  throw new FrameError(`unknown kind ${String(parts[0])}`)
}

export class FrameError extends Error {
  constructor(problem: string) {
    super(`not a frame: ${problem}`)
    this.name = 'FrameError'
  }
}

const CODES = {
  'generation-claimed': 0,
  'generation-declined': 1,
  'reasoning-delta': 2,
  'text-delta': 3,
  'tool-call-start': 4,
  'tool-call-delta': 5,
  'generation-end': 6,
  'generation-error': 7,
  'vectors-ready': 8,
} as const satisfies Record<GenerationEvent['type'], number>

function toValue(event: GenerationEvent): unknown {
  switch (event.type) {
    case 'reasoning-delta':
    case 'text-delta':
      return event.text
    case 'generation-claimed':
      return event.promptTokens
    case 'generation-declined':
      return [event.reason, event.promptTokens]
    case 'tool-call-start':
      return [event.index, event.id, event.name]
    case 'tool-call-delta':
      return [event.index, event.text]
    case 'vectors-ready':
      return [event.first, event.count]
    case 'generation-end': {
      const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = event.usage
      return [event.finishReason, promptTokens, cachedTokens, completionTokens, reasoningTokens]
    }
    case 'generation-error':
      return [event.code, event.message]
  }
}

function readEntry(parts: readonly unknown[], at: number): FrameEntry {
  return {
    stream: readNumber(parts, at),
    epoch: readNumber(parts, at + 1),
    seq: readNumber(parts, at + 2),
    event: readEvent(parts, at + 3),
    ids: readIds(parts, at + 5),
  }
}

function readEvent(parts: readonly unknown[], at: number): GenerationEvent {
  switch (parts[at]) {
    case CODES['text-delta']:
      return { type: 'text-delta', text: readString(parts, at + 1) }
    case CODES['reasoning-delta']:
      return { type: 'reasoning-delta', text: readString(parts, at + 1) }
    case CODES['generation-claimed']:
      return {
        type: 'generation-claimed',
        worker: readString(parts, 1),
        promptTokens: readNumber(parts, at + 1),
      }
  }
  const value = parts[at + 1]
  if (!Array.isArray(value)) throw new FrameError(`event ${String(parts[at])} without its values`)
  switch (parts[at]) {
    case CODES['tool-call-delta']:
      return { type: 'tool-call-delta', index: readNumber(value, 0), text: readString(value, 1) }
    case CODES['tool-call-start']:
      return {
        type: 'tool-call-start',
        index: readNumber(value, 0),
        id: readString(value, 1),
        name: readString(value, 2),
      }
    case CODES['vectors-ready']:
      return { type: 'vectors-ready', first: readNumber(value, 0), count: readNumber(value, 1) }
    case CODES['generation-declined']:
      return {
        type: 'generation-declined',
        reason: readOneOf(value, DECLINE_REASONS),
        promptTokens: readNumber(value, 1),
      }
    case CODES['generation-end']:
      return {
        type: 'generation-end',
        finishReason: readOneOf(value, FINISH_REASONS),
        usage: {
          promptTokens: readNumber(value, 1),
          cachedTokens: readNumber(value, 2),
          completionTokens: readNumber(value, 3),
          reasoningTokens: readNumber(value, 4),
        },
      }
    case CODES['generation-error']:
      return {
        type: 'generation-error',
        code: readOneOf(value, ERROR_CODES),
        message: readString(value, 1),
      }
    default:
      throw new FrameError(`unknown event ${String(parts[at])}`)
  }
}

const DECLINE_REASONS = ['worker-stopping', 'hold-too-small'] as const
const FINISH_REASONS = ['stop', 'length', 'tool-calls'] as const
const ERROR_CODES = [
  'invalid_request',
  'insufficient_credits',
  'upstream_error',
  'model_unavailable',
] as const

function parseArray(text: string): readonly unknown[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new FrameError(String(error))
  }
  if (!Array.isArray(value)) throw new FrameError('not an array')
  return value
}

function readNumber(parts: readonly unknown[], at: number): number {
  const value = parts[at]
  if (typeof value !== 'number') throw new FrameError(`a number was expected at ${at}`)
  return value
}

function readString(parts: readonly unknown[], at: number): string {
  const value = parts[at]
  if (typeof value !== 'string') throw new FrameError(`text was expected at ${at}`)
  return value
}

function readIds(parts: readonly unknown[], at: number): readonly number[] {
  const value = parts[at]
  if (!Array.isArray(value)) throw new FrameError(`token ids were expected at ${at}`)
  return value
}

function readOneOf<const Value extends string>(value: readonly unknown[], allowed: readonly Value[]): Value {
  const found = allowed.find((candidate) => candidate === value[0])
  if (found === undefined) throw new FrameError(`unexpected ${String(value[0])}`)
  return found
}
