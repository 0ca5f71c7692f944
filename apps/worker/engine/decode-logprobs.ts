import { FIXED32, LENGTH, readEnd, readVarint, skip, tagOf, VARINT, type Cursor } from './protobuf-cursor.ts'

/** The log probability of one output token, as the engine reports it. */
export type OutputLogprob = {
  readonly logprob: number
  /**
   * The sampled token, then the most probable other tokens, as many as were requested in all; empty if none were
   * requested.
   */
  readonly topIds: readonly number[]
  /** The log probabilities of `topIds`. */
  readonly topLogprobs: readonly number[]
}

/**
 * Reads an `OutputLogProbs` of proto/vllm_engine.proto, from its length on. The token ids are not read: they repeat the
 * ids of the chunk. Throws if the lists do not have the same length.
 */
export function readOutputLogprobs(cursor: Cursor): OutputLogprob[] {
  const end = readEnd(cursor)
  const logprobs: number[] = []
  const tops: TopLogprobs[] = []
  while (cursor.at < end) {
    const tag = readVarint(cursor)
    if (tag === LOGPROBS_PACKED || tag === LOGPROB) readFloats(cursor, tag, logprobs)
    else if (tag === TOP_LOGPROBS) tops.push(readTopLogprobs(cursor))
    else skip(cursor, tag)
  }
  checkEnd(cursor, end)
  if (tops.length !== 0 && tops.length !== logprobs.length) throw new Error(INCOMPLETE)
  return logprobs.map((logprob, at) => ({ logprob, ...(tops[at] ?? NO_TOP) }))
}

/** The log probability of one token of the prompt, as the engine reports it. It is null for the first token. */
export type InputLogprob = Omit<OutputLogprob, 'logprob'> & { readonly logprob: number | null }

/**
 * Reads an `InputLogProbs` of proto/vllm_engine.proto, from its length on. The token ids are not read: they repeat the
 * ids of the prompt. Throws if the lists do not have the same length.
 */
export function readInputLogprobs(cursor: Cursor): InputLogprob[] {
  const end = readEnd(cursor)
  const logprobs: (number | null)[] = []
  const tops: TopLogprobs[] = []
  while (cursor.at < end) {
    const tag = readVarint(cursor)
    if (tag === INPUT_LOGPROB) logprobs.push(readInputLogprob(cursor))
    else if (tag === TOP_LOGPROBS) tops.push(readTopLogprobs(cursor))
    else skip(cursor, tag)
  }
  checkEnd(cursor, end)
  if (tops.length !== 0 && tops.length !== logprobs.length) throw new Error(INCOMPLETE)
  return logprobs.map((logprob, at) => ({ logprob, ...(tops[at] ?? NO_TOP) }))
}

/** Reads an `InputTokenLogProb`; null if it has no value. */
function readInputLogprob(cursor: Cursor): number | null {
  const end = readEnd(cursor)
  const values: number[] = []
  while (cursor.at < end) {
    const tag = readVarint(cursor)
    if (tag === LOGPROB) readFloats(cursor, tag, values)
    else skip(cursor, tag)
  }
  checkEnd(cursor, end)
  return values.at(-1) ?? null
}

const INPUT_LOGPROB = tagOf(1, LENGTH)
const LOGPROBS_PACKED = tagOf(1, LENGTH)
const LOGPROB = tagOf(1, FIXED32)
const TOP_LOGPROBS = tagOf(3, LENGTH)

const TOP_VALUES_PACKED = tagOf(1, LENGTH)
const TOP_VALUE = tagOf(1, FIXED32)
const TOP_IDS_PACKED = tagOf(2, LENGTH)
const TOP_ID = tagOf(2, VARINT)

const INCOMPLETE = 'the log probabilities of a chunk are incomplete'

type TopLogprobs = Pick<OutputLogprob, 'topIds' | 'topLogprobs'>
const NO_TOP: TopLogprobs = { topIds: [], topLogprobs: [] }

function readTopLogprobs(cursor: Cursor): TopLogprobs {
  const end = readEnd(cursor)
  const topIds: number[] = []
  const topLogprobs: number[] = []
  while (cursor.at < end) {
    const tag = readVarint(cursor)
    if (tag === TOP_VALUES_PACKED || tag === TOP_VALUE) readFloats(cursor, tag, topLogprobs)
    else if (tag === TOP_ID) topIds.push(readVarint(cursor))
    else if (tag === TOP_IDS_PACKED) {
      const last = readEnd(cursor)
      while (cursor.at < last) topIds.push(readVarint(cursor))
    } else skip(cursor, tag)
  }
  checkEnd(cursor, end)
  if (topIds.length !== topLogprobs.length) throw new Error(INCOMPLETE)
  return { topIds, topLogprobs }
}

/** Reads the floats of a packed field, or the one float of a field that is not packed. */
function readFloats(cursor: Cursor, tag: number, floats: number[]): void {
  const end = (tag & 7) === LENGTH ? readEnd(cursor) : cursor.at + FLOAT_BYTES
  if (end > cursor.bytes.length) throw new Error('protobuf message is cut short')
  while (cursor.at + FLOAT_BYTES <= end) {
    floats.push(cursor.bytes.readFloatLE(cursor.at))
    cursor.at += FLOAT_BYTES
  }
  checkEnd(cursor, end)
}

const FLOAT_BYTES = 4

function checkEnd({ at }: Cursor, end: number): void {
  if (at !== end) throw new Error('protobuf message is cut short')
}
