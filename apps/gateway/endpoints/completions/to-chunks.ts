import type { TokenLogprob } from '#libs/contracts/generation-event.ts'
import type { Answer, StreamRenderer } from '../generation-endpoint.ts'
import { toJson } from '../to-json.ts'
import { countCharacters, toCompletionLogprobs } from './completion-logprobs.ts'
import { toCompletionId, toFinishReason } from './to-object.ts'

/** The request's options that change the answer. */
export type CompletionOptions = {
  /** How many tokens each entry of the log probabilities lists; null if the answer has none. */
  readonly logprobs: number | null
}

const DONE = 'data: [DONE]\n\n'

/**
 * Creates the renderer of one legacy stream. A chunk has a `text` instead of a delta. The last chunk has the finish
 * reason, and no chunk has the usage. Output other than text is dropped. All text of one call of `render` becomes one
 * chunk.
 */
export function createCompletionChunks(answer: Answer<CompletionOptions>): StreamRenderer {
  const { id, created, model, options } = answer
  const logprobs = options.logprobs === null ? null : createPendingLogprobs(options.logprobs)
  const head =
    `data: {"id":${JSON.stringify(toCompletionId(id))},"object":"text_completion",` +
    `"created":${created},"model":${JSON.stringify(model.id)},"choices":[{"index":0,"text":`
  const chunk = (text: string, finishReason: string) =>
    `${head}${toJson(text)},${logprobs?.take(text) ?? ''}"finish_reason":${finishReason}}]}\n\n`

  let ended = false

  return {
    headers: {},
    render(events) {
      let text = ''
      for (const event of events) {
        if (event.type === 'text-delta') text += event.text
        if (event.type === 'token-logprobs') logprobs?.add(event.tokens)
        if (event.type !== 'generation-end') continue
        ended = true
        return (
          (text === '' ? '' : chunk(text, 'null')) +
          chunk('', JSON.stringify(toFinishReason(event.finishReason))) +
          DONE
        )
      }
      return text === '' ? '' : chunk(text, 'null')
    },
    ended: () => ended,
    /** Returns the error and `[DONE]`, without a chunk that has a finish reason. */
    renderError: (body) => `data: ${toJson(body)}\n\n${DONE}`,
  }
}

/** Keeps log probabilities until the next chunk. `take` renders them as a field of the chunk with this text. */
function createPendingLogprobs(count: number) {
  let pending: TokenLogprob[] = []
  let offset = 0
  return {
    add(tokens: readonly TokenLogprob[]) {
      for (const token of tokens) pending.push(token)
    },
    take(text: string): string {
      const [tokens, start] = [pending, offset]
      pending = []
      offset += countCharacters(text)
      if (tokens.length === 0) return '"logprobs":null,'
      return `"logprobs":${toJson(toCompletionLogprobs(tokens, { count, offset: start }))},`
    },
  }
}
