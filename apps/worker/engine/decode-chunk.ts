/**
 * Decodes a GenerateResponse of proto/vllm_engine.proto by hand: reflection costs several times as much, and this runs
 * once per token and stream. Only the fields that the worker uses are read; all others are skipped, so newer engines
 * and log probabilities do no harm. Fields may come in any order. Throws on bytes that are not a protobuf message.
 */
export function decodeChunk(bytes: Buffer): ChunkMessage | CompleteMessage {
  const cursor: Cursor = { bytes, at: 0 }
  let message: ChunkMessage | CompleteMessage | null = null
  while (cursor.at < bytes.length) {
    const tag = readVarint(cursor)
    if (tag !== CHUNK && tag !== COMPLETE) {
      skip(cursor, tag)
      continue
    }
    const end = readEnd(cursor)
    message = tag === CHUNK ? readChunk(cursor, end) : readComplete(cursor, end)
    if (cursor.at !== end) throw new Error('protobuf message is cut short')
  }
  return message ?? { type: 'chunk', ids: [], promptTokens: 0, cachedTokens: 0 }
}

export type ChunkMessage = {
  readonly type: 'chunk'
  /** The new tokens only; empty when a generation was aborted. */
  readonly ids: number[]
  readonly promptTokens: number
  readonly cachedTokens: number
}

/** The ids in a Complete are not read: they repeat the ids of the last chunk. */
export type CompleteMessage = {
  readonly type: 'complete'
  readonly finishReason: string
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly matchedTokenId: number | null
  readonly matchedStop: string | null
}

type Cursor = { readonly bytes: Buffer; at: number }

const VARINT = 0
const FIXED64 = 1
const LENGTH = 2
const FIXED32 = 5

const tagOf = (field: number, wireType: number) => field * 8 + wireType

const CHUNK = tagOf(1, LENGTH)
const COMPLETE = tagOf(2, LENGTH)

const CHUNK_IDS_PACKED = tagOf(1, LENGTH)
const CHUNK_ID = tagOf(1, VARINT)
const CHUNK_PROMPT_TOKENS = tagOf(2, VARINT)
const CHUNK_CACHED_TOKENS = tagOf(4, VARINT)

function readChunk(cursor: Cursor, end: number): ChunkMessage {
  const ids: number[] = []
  let promptTokens = 0
  let cachedTokens = 0
  while (cursor.at < end) {
    const tag = readVarint(cursor)
    if (tag === CHUNK_IDS_PACKED) {
      const last = readEnd(cursor)
      while (cursor.at < last) ids.push(readVarint(cursor))
    } else if (tag === CHUNK_ID) ids.push(readVarint(cursor))
    else if (tag === CHUNK_PROMPT_TOKENS) promptTokens = readVarint(cursor)
    else if (tag === CHUNK_CACHED_TOKENS) cachedTokens = readVarint(cursor)
    else skip(cursor, tag)
  }
  return { type: 'chunk', ids, promptTokens, cachedTokens }
}

const FINISH_REASON = tagOf(2, LENGTH)
const COMPLETE_PROMPT_TOKENS = tagOf(3, VARINT)
const COMPLETE_CACHED_TOKENS = tagOf(5, VARINT)
const MATCHED_TOKEN_ID = tagOf(10, VARINT)
const MATCHED_STOP = tagOf(11, LENGTH)

function readComplete(cursor: Cursor, end: number): CompleteMessage {
  let finishReason = ''
  let promptTokens = 0
  let cachedTokens = 0
  let matchedTokenId: number | null = null
  let matchedStop: string | null = null
  while (cursor.at < end) {
    const tag = readVarint(cursor)
    if (tag === FINISH_REASON) finishReason = readString(cursor)
    else if (tag === COMPLETE_PROMPT_TOKENS) promptTokens = readVarint(cursor)
    else if (tag === COMPLETE_CACHED_TOKENS) cachedTokens = readVarint(cursor)
    else if (tag === MATCHED_TOKEN_ID) {
      matchedTokenId = readVarint(cursor)
      matchedStop = null
    } else if (tag === MATCHED_STOP) {
      matchedStop = readString(cursor)
      matchedTokenId = null
    } else skip(cursor, tag)
  }
  return { type: 'complete', finishReason, promptTokens, cachedTokens, matchedTokenId, matchedStop }
}

function readString(cursor: Cursor): string {
  const end = readEnd(cursor)
  const text = cursor.bytes.toString('utf8', cursor.at, end)
  cursor.at = end
  return text
}

/** Reads a length and returns where that many bytes end. */
function readEnd(cursor: Cursor): number {
  const length = readVarint(cursor)
  const end = cursor.at + length
  if (end > cursor.bytes.length) throw new Error('protobuf message is cut short')
  return end
}

/** The low 32 bits, unsigned; a varint may have up to ten bytes. */
function readVarint(cursor: Cursor): number {
  const { bytes } = cursor
  let value = 0
  for (let shift = 0; shift < 70; shift += 7) {
    const byte = bytes[cursor.at++]
    if (byte === undefined) throw new Error('protobuf message is cut short')
    if (shift < 32) value |= (byte & 0x7f) << shift
    if (byte < 0x80) return value >>> 0
  }
  throw new Error('protobuf number is too long')
}

function skip(cursor: Cursor, tag: number): void {
  const wireType = tag & 7
  if (wireType === VARINT) readVarint(cursor)
  else if (wireType === FIXED64) cursor.at += 8
  else if (wireType === LENGTH) cursor.at = readEnd(cursor)
  else if (wireType === FIXED32) cursor.at += 4
  else throw new Error(`protobuf wire type ${wireType} is not known`)
  if (cursor.at > cursor.bytes.length) throw new Error('protobuf message is cut short')
}
