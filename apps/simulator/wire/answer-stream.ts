import type { ServerWritableStream } from '@grpc/grpc-js'
import type { Finish } from '../sampling/sampler.ts'
import type { SampledLogprob } from '../sampling/token-logprobs.ts'
import { createProtobufWriter } from './protobuf-writer.ts'
import type { Status } from './statuses.ts'

/** The answer of a Generate call, on its way to the client. */
export type AnswerStream = {
  /** Takes the next token, and how the answer ends if this is the last token. */
  push(token: Token): void
  /** Ends the answer without another token, unless it has ended. */
  end(reason: 'abort' | 'error'): void
  /** Ends the call with a status; messages that were sent before still arrive. */
  fail(status: Status): void
}

type Token = {
  readonly tokenId: number
  readonly cachedTokens: number
  /** Null if the request asks for none. */
  readonly logprob: SampledLogprob | null
  readonly finish: Finish | null
}

export type AnswerOptions = {
  readonly stream: boolean
  /** How many tokens a chunk waits for; the first and the last chunk do not wait. */
  readonly interval: number
  /** The counts are of the call so far and not of a chunk, and the end repeats all ids. */
  readonly countsCall: boolean
  readonly promptTokens: number
  /** Returns the ids and the log probabilities of the prompt; null if the request asks for none. */
  readonly promptLogprobs: (() => PromptList) | null
}

export type PromptList = {
  readonly tokenIds: ArrayLike<number>
  /** One entry for each token; null for the first. */
  readonly logprobs: readonly (SampledLogprob | null)[]
}

/**
 * Follows vLLM's streaming rules, as recorded in test/fixtures/engine. A chunk has the tokens since the previous chunk.
 * After the last chunk comes a Complete with the tokens of that chunk. An aborted answer ends with an empty chunk and
 * an empty Complete. Without `stream` there is only the Complete, with all tokens. While the client does not read,
 * tokens are buffered here; when it reads again, they are sent as one chunk.
 */
export function createAnswerStream(
  call: ServerWritableStream<unknown, Buffer>,
  { stream, interval, countsCall, promptTokens, promptLogprobs }: AnswerOptions,
): AnswerStream {
  let tokenIds: number[] = []
  let logprobs: SampledLogprob[] = []
  const allIds: number[] = []
  let cachedTokens = 0
  let finish: Finish | null = null
  let isFirst = true
  let ended = false
  // The last tokens may still be buffered when nothing more is pushed.
  call.on('drain', flush)

  function flush(): void {
    if (ended || call.writableNeedDrain || !isDue()) return
    const prompt = isFirst ? (promptLogprobs?.() ?? null) : null
    if (countsCall) allIds.push(...tokenIds)
    const completionTokens = countsCall ? allIds.length : tokenIds.length
    const delta = { tokenIds, logprobs, prompt, promptTokens, completionTokens, cachedTokens }
    if (stream) call.write(encodeChunk(delta))
    tokenIds = []
    logprobs = []
    isFirst = false
    if (finish === null) return
    call.write(encodeComplete(countsCall ? { ...delta, tokenIds: allIds } : delta, finish))
    ended = true
    call.end()
  }

  function isDue(): boolean {
    if (finish !== null) return true
    return stream && tokenIds.length >= (isFirst ? 1 : interval)
  }

  return {
    push(token) {
      if (finish !== null) return
      tokenIds.push(token.tokenId)
      if (token.logprob !== null) logprobs.push(token.logprob)
      cachedTokens = token.cachedTokens
      finish = token.finish
      flush()
    },
    end(reason) {
      finish ??= { reason }
      flush()
    },
    fail({ code, details }) {
      if (ended) return
      ended = true
      call.emit('error', { code, details })
    },
  }
}

/** The tokens since the last chunk. */
type Delta = {
  readonly tokenIds: readonly number[]
  /** One entry for each token, or none. */
  readonly logprobs: readonly SampledLogprob[]
  /** The log probabilities of the prompt, in the first delta of a request that asks for them; else null. */
  readonly prompt: PromptList | null
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
}

// One message is written at a time, so all answers share one writer.
const writer = createProtobufWriter()

/** Field numbers of vllm_engine.proto: GenerateResponse.chunk = 1, GenerateStreamChunk. */
function encodeChunk(delta: Delta): Buffer {
  const { tokenIds, logprobs, prompt, promptTokens, completionTokens, cachedTokens } = delta
  writer.message(1, () => {
    writer.packedVarints(1, tokenIds)
    writer.varint(2, promptTokens)
    writer.varint(3, completionTokens)
    writer.varint(4, cachedTokens)
    writeLogprobs(5, tokenIds, logprobs)
    writePromptLogprobs(6, prompt)
  })
  return writer.finish()
}

/** GenerateResponse.complete = 2, GenerateComplete. */
function encodeComplete(delta: Delta, finish: Finish): Buffer {
  const { tokenIds, logprobs, prompt, promptTokens, completionTokens, cachedTokens } = delta
  writer.message(2, () => {
    writer.packedVarints(1, tokenIds)
    writer.presentText(2, finish.reason)
    writer.varint(3, promptTokens)
    writer.varint(4, completionTokens)
    writer.varint(5, cachedTokens)
    writeLogprobs(6, tokenIds, logprobs)
    writePromptLogprobs(7, prompt)
    if (finish.matchedTokenId !== undefined) writer.presentVarint(10, finish.matchedTokenId)
    if (finish.matchedStopString !== undefined) writer.presentText(11, finish.matchedStopString)
  })
  return writer.finish()
}

/** OutputLogProbs. An engine that is asked for 0 tokens beside each token sends no `top_logprobs`. */
function writeLogprobs(
  field: number,
  tokenIds: readonly number[],
  logprobs: readonly SampledLogprob[],
): void {
  if (logprobs.length === 0) return
  writer.message(field, () => {
    writer.packedFloats(
      1,
      logprobs.map(({ logprob }) => logprob),
    )
    writer.packedVarints(2, tokenIds)
    for (const logprob of logprobs) if (logprob.topIds.length > 0) writeTop(logprob)
  })
}

/** InputLogProbs. The first token has an `InputTokenLogProb` without a value, and an empty `TopLogProbs`. */
function writePromptLogprobs(field: number, prompt: PromptList | null): void {
  if (prompt === null) return
  const { tokenIds, logprobs } = prompt
  const hasTop = logprobs.some((logprob) => logprob !== null && logprob.topIds.length > 0)
  writer.message(field, () => {
    for (const logprob of logprobs) {
      writer.message(1, () => {
        if (logprob !== null) writer.presentFloat(1, logprob.logprob)
      })
    }
    writer.packedVarints(2, tokenIds)
    if (hasTop) for (const logprob of logprobs) writeTop(logprob ?? NO_TOP)
  })
}

const NO_TOP = { topIds: [], topLogprobs: [] }

function writeTop({ topIds, topLogprobs }: Pick<SampledLogprob, 'topIds' | 'topLogprobs'>): void {
  writer.message(3, () => {
    writer.packedFloats(1, topLogprobs)
    writer.packedVarints(2, topIds)
  })
}
