import type { TokenLogprob } from '#libs/contracts/generation-event.ts'
import type { OutputEvent } from '../../generation/request/generation-call.ts'
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
  /** How many answers the stream has. Absent: one. */
  readonly choices?: number
}

const DONE = 'data: [DONE]\n\n'

const NO_HEADERS = {}

/**
 * Creates the renderer of one stream. The JSON that all chunks share is built once, so only the text of a delta is
 * escaped for each chunk. Deltas of one kind that follow each other in one call of `render` are merged into one chunk.
 * The chunks of several answers alternate as the answers arrive.
 */
export function createChatChunks(answer: Answer<ChatOptions>): StreamRenderer {
  return new ChatChunks(answer)
}

/** A class, because a gateway has one for each open stream, and closures take several times as much memory. */
class ChatChunks implements StreamRenderer {
  readonly headers = NO_HEADERS
  readonly #head: string
  readonly #includeUsage: boolean
  /** The log probabilities for the next chunk of each choice; null if the stream has none. */
  readonly #logprobs: TokenLogprob[][] | null
  /** Has `true` at the number of each choice whose first chunk was rendered. */
  readonly #begun: boolean[] = []
  /** The number of choices that have not ended. */
  #open: number

  constructor({ id, created, model, options }: Answer<ChatOptions>) {
    const head =
      `data: {"id":${JSON.stringify(toCompletionId(id))},"object":"chat.completion.chunk",` +
      `"created":${created},"model":${JSON.stringify(model.id)},"choices":[`
    // V8 keeps a concatenated string as a tree of its parts. Converting it to bytes and back makes one flat string.
    this.#head = Buffer.from(head).toString()
    this.#includeUsage = options.includeUsage
    this.#logprobs = options.logprobs ? [] : null
    this.#open = options.choices ?? 1
  }

  render(events: readonly OutputEvent[], choice = 0): string {
    if (events.length === 0) return ''
    const hasBegun = this.#begun[choice] === true
    let chunks = hasBegun ? '' : this.#chunk(choice, '"role":"assistant","content":""', 'null')
    this.#begun[choice] = true
    for (const event of mergeDeltas(events)) {
      if (event.type === 'generation-end') return chunks + this.#renderEnd(choice, event)
      chunks += this.#renderDelta(choice, event)
    }
    return chunks
  }

  ended(): boolean {
    return this.#open === 0
  }

  /** Returns the error and `[DONE]`, without a chunk that has a finish reason. */
  renderError(body: ErrorBody): string {
    return `data: ${toJson(body)}\n\n${DONE}`
  }

  #chunk(choice: number, delta: string, finishReason: string): string {
    const logprobs = this.#logprobs === null ? '' : `"logprobs":${takeLogprobs(this.#logprobs, choice)},`
    return `${this.#head}{"index":${choice},"delta":{${delta}},${logprobs}"finish_reason":${finishReason}}]}\n\n`
  }

  #renderEnd(choice: number, event: Extract<OutputEvent, { type: 'generation-end' }>): string {
    this.#open -= 1
    const finish = this.#chunk(choice, '', JSON.stringify(toFinishReason(event.finishReason)))
    if (this.#open > 0) return finish
    // The last end has the usage of all choices.
    const usage = this.#includeUsage
      ? `${this.#head}],"usage":${JSON.stringify(toChatUsage(event.usage))}}\n\n`
      : ''
    return finish + usage + DONE
  }

  #renderDelta(choice: number, event: Exclude<OutputEvent, { type: 'generation-end' }>): string {
    switch (event.type) {
      // Only legacy completions have raw prompts.
      case 'prompt-logprobs':
        return ''
      case 'token-logprobs':
        if (this.#logprobs !== null) (this.#logprobs[choice] ??= []).push(...event.tokens)
        return ''
      case 'text-delta':
        return this.#chunk(choice, `"content":${toJson(event.text)}`, 'null')
      case 'reasoning-delta':
        return this.#chunk(choice, `"reasoning_content":${toJson(event.text)}`, 'null')
      case 'tool-call-start': {
        // Clients concatenate the strings of all deltas, so only the first one has id, type and name.
        const names = `"id":${toJson(event.id)},"type":"function","function":{"name":${toJson(event.name)},"arguments":""}`
        return this.#chunk(choice, `"tool_calls":[{"index":${event.index},${names}}]`, 'null')
      }
      case 'tool-call-delta': {
        const text = `"function":{"arguments":${toJson(event.text)}}`
        return this.#chunk(choice, `"tool_calls":[{"index":${event.index},${text}}]`, 'null')
      }
    }
  }
}

function takeLogprobs(ofChoices: TokenLogprob[][], choice: number): string {
  const tokens = ofChoices[choice] ?? []
  if (tokens.length === 0) return 'null'
  ofChoices[choice] = []
  return toJson(toChatLogprobs(tokens))
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
