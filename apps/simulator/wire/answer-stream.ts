import type { ServerWritableStream } from '@grpc/grpc-js'
import { inventLogprobs } from '../sampling/logprobs.ts'
import type { Finish } from '../sampling/sampler.ts'
import { encodeChunk, encodeComplete, type Delta } from './encode-response.ts'
import type { Status } from './statuses.ts'

/** A Generate call's answer: what the engine produced, on its way to the client. */
export type AnswerStream = {
  /** Takes a token of choice `index`; nothing is sent before `flush`. */
  push(token: { index: number; tokenId: number; cachedTokens: number; finish: Finish | null }): void
  /** Ends all choices that are still open. */
  endOpen(reason: 'abort' | 'error'): void
  /** Sends what there is, once for all that one step produced. */
  flush(): void
  /** Ends the call with a status; what was sent before arrives. */
  fail(status: Status): void
}

export type AnswerOptions = {
  readonly stream: boolean
  /** A chunk waits for so many tokens, but for the first and the last. */
  readonly interval: number
  readonly choices: number
  readonly promptIds: ArrayLike<number>
  /** How many alternatives a position shows; null: no logprobs. */
  readonly logprobs: number | null
  readonly promptLogprobs: number | null
  readonly vocabularySize: number
}

type Choice = {
  tokenIds: number[]
  /** Tokens sent before, for the position of the next one. */
  sent: number
  cachedTokens: number
  finish: Finish | null
  state: 'open' | 'done'
}

/**
 * vLLM's streaming rules, as recorded in test/fixtures/engine: a chunk carries the tokens since the last one; the last
 * chunk is followed by a Complete that repeats it; an aborted choice ends with an empty chunk and an empty
 * Complete. Without `stream` there is only the Complete, with everything. While the client does not read,
 * tokens wait here and leave as one chunk.
 */
export function createAnswerStream(
  call: ServerWritableStream<unknown, Buffer>,
  options: AnswerOptions,
): AnswerStream {
  const { stream, promptIds, vocabularySize } = options
  const choices = Array.from({ length: options.choices }, (): Choice => ({
    tokenIds: [],
    sent: 0,
    cachedTokens: 0,
    finish: null,
    state: 'open',
  }))
  let open = choices.length
  let ended = false
  // Also when nobody waits for it: a held finish must go out as soon as the client reads again.
  call.on('drain', flush)

  function flush(): void {
    if (ended || call.writableNeedDrain) return
    if (!stream && choices.some((choice) => choice.finish === null)) return
    for (const [index, choice] of choices.entries()) {
      if (choice.state === 'done' || !isDue(choice)) continue
      send(choice, index)
    }
    if (open === 0) end()
  }

  function isDue({ tokenIds, sent, finish }: Choice): boolean {
    if (finish !== null) return true
    return tokenIds.length >= (sent === 0 ? 1 : options.interval)
  }

  function send(choice: Choice, index: number): void {
    const delta = toDelta(choice, index)
    if (stream) call.write(encodeChunk(delta))
    if (choice.finish !== null) {
      call.write(encodeComplete(delta, choice.finish))
      choice.state = 'done'
      open -= 1
    }
    choice.sent += choice.tokenIds.length
    choice.tokenIds = []
  }

  function toDelta({ tokenIds, sent, cachedTokens }: Choice, index: number): Delta {
    const { logprobs: count } = options
    const invent = (tokenId: number, i: number) =>
      inventLogprobs({ tokenId, position: promptIds.length + sent + i, count: count ?? 0, vocabularySize })
    return {
      index,
      tokenIds,
      promptTokens: promptIds.length,
      cachedTokens,
      logprobs: count === null || tokenIds.length === 0 ? null : tokenIds.map(invent),
      promptLogprobs: sent === 0 && tokenIds.length > 0 ? promptLogprobs() : null,
    }
  }

  function promptLogprobs(): Delta['promptLogprobs'] {
    const { promptLogprobs: count } = options
    if (count === null) return null
    return Array.from(promptIds, (tokenId, position) =>
      position === 0 ? { tokenId } : inventLogprobs({ tokenId, position, count, vocabularySize }),
    )
  }

  function end(): void {
    ended = true
    call.end()
  }

  return {
    push({ index, tokenId, cachedTokens, finish }) {
      const choice = choices[index]
      if (choice === undefined || choice.finish !== null) return
      choice.tokenIds.push(tokenId)
      choice.cachedTokens = cachedTokens
      choice.finish = finish
    },
    endOpen(reason) {
      for (const choice of choices) choice.finish ??= { reason }
    },
    flush,
    fail({ code, details }) {
      if (ended) return
      ended = true
      call.emit('error', { code, details })
    },
  }
}
