import type { Usage } from '#libs/contracts/generation-event.ts'
import { brokenOutput } from '../../generation/output/collect.ts'
import type { OutputEvent } from '../../generation/request/generation-call.ts'
import type { ErrorBody } from '../../http/handle-error.ts'
import { toMessagesError } from '../../http/messages-error.ts'
import type { Answer, StreamRenderer } from '../generation-endpoint.ts'
import { toJson } from '../to-json.ts'
import { SIGNATURE, toInputText, toMessage, toMessageUsage, toStop } from './to-object.ts'

/** By a tool's name: true if its arguments are streamed as they arrive; undefined if the request's header decides. */
export type EagerTools = ReadonlyMap<string | undefined, boolean | undefined> | null

/** Names in `anthropic-beta` the mode in which arguments are streamed as they arrive. */
const EAGER_BETA = 'fine-grained-tool-streaming'

/**
 * Creates the renderer of one stream. The stream begins with `message_start`. Each block has three kinds of events: its
 * start, its deltas and its stop. The stream ends with `message_delta` and `message_stop`.
 *
 * The arguments of a call are sent when they are complete, so that they are always a JSON object: clients of this
 * interface expect that. They are sent as they arrive if the tool or the request asks for it.
 */
export function createMessageEvents(answer: Answer<EagerTools>): StreamRenderer {
  return new MessageEvents(answer)
}

const NO_HEADERS = {}

/** The kinds of blocks, with the name of the delta's type and of its field. */
const DELTAS = {
  text: ['text_delta', 'text'],
  thinking: ['thinking_delta', 'thinking'],
  tool_use: ['input_json_delta', 'partial_json'],
} as const

type Kind = keyof typeof DELTAS

/** A class, because a gateway has one for each open stream, and closures take several times as much memory. */
class MessageEvents implements StreamRenderer {
  readonly headers = NO_HEADERS
  readonly keepAlive = toEvent('ping', '')
  readonly #answer: Answer<EagerTools>
  #prompt: Usage | null = null
  #begun = false
  #ended = false
  /** The open block; at most one is open, and output of another kind ends it. */
  #open: Kind | null = null
  #index = -1
  /** The index of the call whose block is open. */
  #call = -1
  /** Text of the open block for which no event is written yet: consecutive deltas of a batch share one event. */
  #buffered = ''
  /** True while the open block is a call whose arguments are sent when they are complete. */
  #isWhole = false

  constructor(answer: Answer<EagerTools>) {
    this.#answer = answer
  }

  readonly takePrompt = (usage: Usage) => {
    this.#prompt = usage
  }

  render(events: readonly OutputEvent[]): string {
    if (events.length === 0) return ''
    let rendered = this.#begin()
    for (const event of events) {
      if (this.#ended) break
      rendered += event.type === 'generation-end' ? this.#end(event) : this.#write(event)
    }
    return this.#isWhole ? rendered : rendered + this.#flush()
  }

  ended(): boolean {
    return this.#ended
  }

  renderError(body: ErrorBody): string {
    return `event: error\ndata: ${toJson(toMessagesError(body, { requestId: this.#answer.id }))}\n\n`
  }

  #begin(): string {
    if (this.#begun) return ''
    if (this.#prompt === null) throw brokenOutput('the output began without the usage of its prompt')
    this.#begun = true
    return toEvent('message_start', `"message":${toJson(toMessage(this.#answer, this.#prompt))}`)
  }

  #write(event: Exclude<OutputEvent, { type: 'generation-end' }>): string {
    switch (event.type) {
      // The interface has no log probabilities.
      case 'prompt-logprobs':
      case 'token-logprobs':
        return ''
      case 'text-delta':
        return this.#add('text', event.text, '"type":"text","text":""')
      case 'reasoning-delta':
        return this.#add('thinking', event.text, '"type":"thinking","thinking":"","signature":""')
      case 'tool-call-start':
        this.#call = event.index
        return this.#startCall(event)
      case 'tool-call-delta':
        if (this.#open !== 'tool_use' || this.#call !== event.index) {
          throw brokenOutput('a tool call went on after its end')
        }
        this.#buffered += event.text
        return ''
    }
  }

  #add(kind: Kind, text: string, block: string): string {
    if (text === '') return ''
    const started = this.#open === kind ? '' : this.#start(kind, block)
    this.#buffered += text
    return started
  }

  #startCall({ id, name }: Extract<OutputEvent, { type: 'tool-call-start' }>): string {
    const block = `"type":"tool_use","id":${toJson(id)},"name":${toJson(name)},"input":{}`
    const started = this.#start('tool_use', block)
    const { headers, options } = this.#answer
    const isEager = options?.get(name) ?? String(headers['anthropic-beta']).includes(EAGER_BETA)
    this.#isWhole = !isEager
    return started
  }

  #start(kind: Kind, block: string): string {
    const stopped = this.#stop()
    this.#open = kind
    this.#index += 1
    return stopped + toEvent('content_block_start', `"index":${this.#index},"content_block":{${block}}`)
  }

  #flush(): string {
    if (this.#open === null || this.#buffered === '') return ''
    const [type, field] = DELTAS[this.#open]
    const text = this.#buffered
    this.#buffered = ''
    return this.#delta(type, field, text)
  }

  #delta(type: string, field: string, text: string): string {
    const delta = `{"type":"${type}","${field}":${toJson(text)}}`
    return toEvent('content_block_delta', `"index":${this.#index},"delta":${delta}`)
  }

  #stop(): string {
    if (this.#open === null) return ''
    if (this.#isWhole) this.#buffered = toInputText(this.#buffered)
    this.#isWhole = false
    const flushed = this.#flush()
    const signed = this.#open === 'thinking' ? this.#delta('signature_delta', 'signature', SIGNATURE) : ''
    this.#open = null
    return flushed + signed + toEvent('content_block_stop', `"index":${this.#index}`)
  }

  #end(event: Extract<OutputEvent, { type: 'generation-end' }>): string {
    const stopped = this.#stop()
    this.#ended = true
    const fields = `"delta":${toJson(toStop(event))},"usage":${toJson(toMessageUsage(event.usage))}`
    return stopped + toEvent('message_delta', fields) + toEvent('message_stop', '')
  }
}

/** Returns one server-sent event; `fields` are its JSON fields besides `type`, without the enclosing braces. */
function toEvent(type: string, fields: string): string {
  return `event: ${type}\ndata: {"type":"${type}"${fields === '' ? '' : `,${fields}`}}\n\n`
}
