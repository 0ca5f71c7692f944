import type { TokenLogprob } from '#libs/contracts/generation-event.ts'
import type { OutputEvent } from '../../generation/generation-call.ts'
import type { Answer, StreamRenderer } from '../generation-endpoint.ts'
import type { ErrorBody } from '../../http/handle-error.ts'
import { toJson } from '../to-json.ts'
import { toChatLogprobs } from './chat-logprobs.ts'
import { toChatUsage } from './chat-usage.ts'
import { toCompletionId, toFinishReason } from './to-object.ts'

/** The request's options that change the rendered stream. */
export type ChatOptions = {
  readonly includeUsage: boolean
  /** True if the answer has log probabilities. */
  readonly logprobs: boolean
}

const DONE = 'data: [DONE]\n\n'

const NO_HEADERS = {}

/**
 * Creates the renderer of one stream. The JSON that all chunks share is built once, so only the text of a delta is
 * escaped for each chunk. Deltas of one kind that follow each other in one call of `render` are merged into one chunk.
 */
export function createChatChunks(answer: Answer<ChatOptions>): StreamRenderer {
  return new ChatChunks(answer)
}

/** A class, because a gateway has one for each open stream, and closures take several times as much memory. */
class ChatChunks implements StreamRenderer {
  readonly headers = NO_HEADERS
  readonly #head: string
  readonly #includeUsage: boolean
  /** The log probabilities for the next chunk; null if the stream has none. */
  #logprobs: TokenLogprob[] | null
  #begun = false
  #ended = false

  constructor({ id, created, model, options }: Answer<ChatOptions>) {
    const head =
      `data: {"id":${JSON.stringify(toCompletionId(id))},"object":"chat.completion.chunk",` +
      `"created":${created},"model":${JSON.stringify(model.id)},"choices":[`
    // V8 keeps a concatenated string as a tree of its parts. Converting it to bytes and back makes one flat string.
    this.#head = Buffer.from(head).toString()
    this.#includeUsage = options.includeUsage
    this.#logprobs = options.logprobs ? [] : null
  }

  render(events: readonly OutputEvent[]): string {
    if (events.length === 0) return ''
    let chunks = this.#begun ? '' : this.#chunk('"role":"assistant","content":""', 'null')
    this.#begun = true
    for (const event of mergeDeltas(events)) {
      if (this.#ended) break
      chunks += event.type === 'generation-end' ? this.#renderEnd(event) : this.#renderDelta(event)
    }
    return chunks
  }

  ended(): boolean {
    return this.#ended
  }

  /** Returns the error and `[DONE]`, without a chunk that has a finish reason. */
  renderError(body: ErrorBody): string {
    return `data: ${toJson(body)}\n\n${DONE}`
  }

  #chunk(delta: string, finishReason: string): string {
    const logprobs = this.#logprobs === null ? '' : `"logprobs":${this.#takeLogprobs(this.#logprobs)},`
    return `${this.#head}{"index":0,"delta":{${delta}},${logprobs}"finish_reason":${finishReason}}]}\n\n`
  }

  #takeLogprobs(tokens: readonly TokenLogprob[]): string {
    if (tokens.length === 0) return 'null'
    this.#logprobs = []
    return toJson(toChatLogprobs(tokens))
  }

  #renderEnd(event: Extract<OutputEvent, { type: 'generation-end' }>): string {
    this.#ended = true
    const finish = this.#chunk('', JSON.stringify(toFinishReason(event.finishReason)))
    const usage = this.#includeUsage
      ? `${this.#head}],"usage":${JSON.stringify(toChatUsage(event.usage))}}\n\n`
      : ''
    return finish + usage + DONE
  }

  #renderDelta(event: Exclude<OutputEvent, { type: 'generation-end' }>): string {
    switch (event.type) {
      case 'token-logprobs':
        for (const token of event.tokens) this.#logprobs?.push(token)
        return ''
      case 'text-delta':
        return this.#chunk(`"content":${toJson(event.text)}`, 'null')
      case 'reasoning-delta':
        return this.#chunk(`"reasoning_content":${toJson(event.text)}`, 'null')
      case 'tool-call-start': {
        // Clients concatenate the strings of all deltas, so only the first one has id, type and name.
        const names = `"id":${toJson(event.id)},"type":"function","function":{"name":${toJson(event.name)},"arguments":""}`
        return this.#chunk(`"tool_calls":[{"index":${event.index},${names}}]`, 'null')
      }
      case 'tool-call-delta': {
        const text = `"function":{"arguments":${toJson(event.text)}}`
        return this.#chunk(`"tool_calls":[{"index":${event.index},${text}}]`, 'null')
      }
    }
  }
}

/** Merges consecutive deltas of one kind. Most batches contain a single event. */
function mergeDeltas(events: readonly OutputEvent[]): readonly OutputEvent[] {
  if (events.length === 1) return events
  const merged: OutputEvent[] = []
  for (const event of events) {
    const last = merged.at(-1)
    if (last !== undefined && 'text' in last && continuesDelta(last, event)) {
      merged[merged.length - 1] = { ...last, text: last.text + event.text }
    } else {
      merged.push(event)
    }
  }
  return merged
}

type Delta = Extract<OutputEvent, { text: string }>

/** True if `next` is of the same kind as `delta` and, for tool calls, belongs to the same call. */
function continuesDelta(delta: Delta, next: OutputEvent): next is Delta {
  if (!('text' in next) || delta.type !== next.type) return false
  return delta.type !== 'tool-call-delta' || next.type !== 'tool-call-delta' || delta.index === next.index
}
