import type { PromptLogprob, TokenLogprob } from '#libs/contracts/generation-event.ts'
import type { Answer, StreamRenderer } from '../generation-endpoint.ts'
import { toJson } from '../to-json.ts'
import { countCharacters, toCompletionLogprobs } from './completion-logprobs.ts'
import { toCompletionId, toFinishReason } from './to-object.ts'

/** The request's options that change the answer. */
export type CompletionOptions = {
  /** How many tokens each entry of the log probabilities lists; null if the answer has none. */
  readonly logprobs: number | null
  /** How many answers the request wants. Absent: one. */
  readonly choices?: number
  /** The prompt, if the answer begins with it. */
  readonly echo?: string
}

const DONE = 'data: [DONE]\n\n'

/**
 * Creates the renderer of one legacy stream. A chunk has a `text` instead of a delta. The last chunk has the finish
 * reason, and no chunk has the usage. Output other than text is dropped. All text of one call of `render` becomes one
 * chunk. The chunks of several answers alternate as the answers arrive. An echoed prompt is sent with the first output,
 * in the first chunk, so that this chunk also has the log probabilities of the prompt.
 */
export function createCompletionChunks(answer: Answer<CompletionOptions>): StreamRenderer {
  const { id, created, model, options } = answer
  const { logprobs: count, choices = 1, echo = '' } = options
  const pending = count === null ? [] : Array.from({ length: choices }, () => createPendingLogprobs(count))
  const head =
    `data: {"id":${JSON.stringify(toCompletionId(id))},"object":"text_completion",` +
    `"created":${created},"model":${JSON.stringify(model.id)},"choices":[{"index":`
  const chunk = (choice: number, text: string, finishReason: string) =>
    `${head}${choice},"text":${toJson(text)},${pending[choice]?.take() ?? ''}"finish_reason":${finishReason}}]}\n\n`

  /** The number of choices that have not ended. */
  let open = choices
  let unsentPrompt = echo

  return {
    headers: {},
    render(events, choice = 0) {
      let text = ''
      for (const event of events) {
        if (event.type === 'prompt-logprobs') {
          pending[choice]?.add(event.tokens)
          continue
        }
        text += unsentPrompt
        unsentPrompt = ''
        if (event.type === 'text-delta') text += event.text
        if (event.type === 'token-logprobs') pending[choice]?.add(event.tokens)
        if (event.type !== 'generation-end') continue
        open -= 1
        return (
          (text === '' ? '' : chunk(choice, text, 'null')) +
          chunk(choice, '', JSON.stringify(toFinishReason(event.finishReason))) +
          (open === 0 ? DONE : '')
        )
      }
      return text === '' ? '' : chunk(choice, text, 'null')
    },
    ended: () => open === 0,
    /** Returns the error and `[DONE]`, without a chunk that has a finish reason. */
    renderError: (body) => `data: ${toJson(body)}\n\n${DONE}`,
  }
}

/** Keeps log probabilities until the next chunk. `take` renders them as a field of this chunk. */
function createPendingLogprobs(count: number) {
  let pending: (TokenLogprob | PromptLogprob)[] = []
  let offset = 0
  return {
    add(tokens: readonly (TokenLogprob | PromptLogprob)[]) {
      for (const token of tokens) pending.push(token)
    },
    take(): string {
      if (pending.length === 0) return '"logprobs":null,'
      const logprobs = toCompletionLogprobs(pending, { count, offset })
      for (const { token } of pending) offset += countCharacters(token)
      pending = []
      return `"logprobs":${toJson(logprobs)},`
    },
  }
}
