import {
  readInputLogprobs,
  readOutputLogprobs,
  type InputLogprob,
  type OutputLogprob,
} from './decode-logprobs.ts'
import { LENGTH, readEnd, readVarint, skip, tagOf, VARINT, type Cursor } from './protobuf-cursor.ts'

/**
 * Decodes a GenerateResponse of proto/vllm_engine.proto by hand: reflection costs several times as much, and this runs
 * once per token and stream. Only the fields that the worker uses are read; all others are skipped, so newer engines do
 * no harm. Log probabilities are in a chunk only if the request asks for them. Fields may come in any order. Throws on
 * bytes that are not a protobuf message.
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
  return message ?? { type: 'chunk', ids: [], promptTokens: 0, completionTokens: 0, cachedTokens: 0 }
}

export type ChunkMessage = {
  readonly type: 'chunk'
  /** The new tokens only; empty when a generation was aborted. */
  readonly ids: number[]
  readonly promptTokens: number
  /** The number of tokens in this chunk, or in the call so far: see `findGapInChunk`. */
  readonly completionTokens: number
  readonly cachedTokens: number
  /** One entry for each id; absent if the chunk has none. */
  readonly logprobs?: OutputLogprob[]
  /** One entry for each token of the prompt, in the first chunk; absent if the chunk has none. */
  readonly promptLogprobs?: InputLogprob[]
}

/** The ids in a Complete are not read: they repeat the ids of the last chunk. */
export type CompleteMessage = {
  readonly type: 'complete'
  readonly finishReason: string
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly matchedTokenId: number | null
  readonly matchedStop: string | null
}

const CHUNK = tagOf(1, LENGTH)
const COMPLETE = tagOf(2, LENGTH)

const CHUNK_IDS_PACKED = tagOf(1, LENGTH)
const CHUNK_ID = tagOf(1, VARINT)
const CHUNK_PROMPT_TOKENS = tagOf(2, VARINT)
const CHUNK_COMPLETION_TOKENS = tagOf(3, VARINT)
const CHUNK_CACHED_TOKENS = tagOf(4, VARINT)
const CHUNK_LOGPROBS = tagOf(5, LENGTH)
const CHUNK_PROMPT_LOGPROBS = tagOf(6, LENGTH)

function readChunk(cursor: Cursor, end: number): ChunkMessage {
  const ids: number[] = []
  let promptTokens = 0
  let completionTokens = 0
  let cachedTokens = 0
  let logprobs: OutputLogprob[] | null = null
  let promptLogprobs: InputLogprob[] | null = null
  while (cursor.at < end) {
    const tag = readVarint(cursor)
    if (tag === CHUNK_IDS_PACKED) {
      const last = readEnd(cursor)
      while (cursor.at < last) ids.push(readVarint(cursor))
    } else if (tag === CHUNK_ID) ids.push(readVarint(cursor))
    else if (tag === CHUNK_PROMPT_TOKENS) promptTokens = readVarint(cursor)
    else if (tag === CHUNK_COMPLETION_TOKENS) completionTokens = readVarint(cursor)
    else if (tag === CHUNK_CACHED_TOKENS) cachedTokens = readVarint(cursor)
    else if (tag === CHUNK_LOGPROBS) logprobs = readOutputLogprobs(cursor)
    else if (tag === CHUNK_PROMPT_LOGPROBS) promptLogprobs = readInputLogprobs(cursor)
    else skip(cursor, tag)
  }
  const chunk = { type: 'chunk', ids, promptTokens, completionTokens, cachedTokens } as const
  if (logprobs === null && promptLogprobs === null) return chunk
  return {
    ...chunk,
    ...(logprobs !== null && { logprobs }),
    ...(promptLogprobs !== null && { promptLogprobs }),
  }
}

const FINISH_REASON = tagOf(2, LENGTH)
const COMPLETE_PROMPT_TOKENS = tagOf(3, VARINT)
const COMPLETE_COMPLETION_TOKENS = tagOf(4, VARINT)
const COMPLETE_CACHED_TOKENS = tagOf(5, VARINT)
const MATCHED_TOKEN_ID = tagOf(10, VARINT)
const MATCHED_STOP = tagOf(11, LENGTH)

function readComplete(cursor: Cursor, end: number): CompleteMessage {
  let finishReason = ''
  let promptTokens = 0
  let completionTokens = 0
  let cachedTokens = 0
  let matchedTokenId: number | null = null
  let matchedStop: string | null = null
  while (cursor.at < end) {
    const tag = readVarint(cursor)
    if (tag === FINISH_REASON) finishReason = readString(cursor)
    else if (tag === COMPLETE_PROMPT_TOKENS) promptTokens = readVarint(cursor)
    else if (tag === COMPLETE_COMPLETION_TOKENS) completionTokens = readVarint(cursor)
    else if (tag === COMPLETE_CACHED_TOKENS) cachedTokens = readVarint(cursor)
    else if (tag === MATCHED_TOKEN_ID) {
      matchedTokenId = readVarint(cursor)
      matchedStop = null
    } else if (tag === MATCHED_STOP) {
      matchedStop = readString(cursor)
      matchedTokenId = null
    } else skip(cursor, tag)
  }
  return {
    type: 'complete',
    finishReason,
    promptTokens,
    completionTokens,
    cachedTokens,
    matchedTokenId,
    matchedStop,
  }
}

function readString(cursor: Cursor): string {
  const end = readEnd(cursor)
  const text = cursor.bytes.toString('utf8', cursor.at, end)
  cursor.at = end
  return text
}
