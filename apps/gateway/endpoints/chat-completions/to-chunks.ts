import type { OutputEvent } from '../../generation/generation-call.ts'
import type { ErrorBody } from '../../http/handle-error.ts'
import { toChatUsage, toFinishReason } from './to-finish.ts'
import { toCompletionId, type ChatIdentity } from './to-object.ts'

/** Renders one stream: what it returns are whole server-sent events, to be written as they are. */
type ChatChunks = {
  /** The frames of one batch; after its `generation-end`, everything up to `[DONE]`. */
  render(events: readonly OutputEvent[]): string
  /** Whether the end has been rendered. */
  readonly ended: boolean
  /** The frames that end a stream which failed: the error, then `[DONE]`, and no finish chunk. */
  renderError(body: ErrorBody): string
}

const DONE = 'data: [DONE]\n\n'

/**
 * Creates the renderer of one stream. All that its chunks have in common is written once, here, so that of a
 * token only its text is escaped; the deltas of one kind that stand beside each other in a batch share a chunk.
 */
export function createChatChunks(identity: ChatIdentity, includeUsage: boolean): ChatChunks {
  const { id, created, model } = identity
  const head =
    `data: {"id":${JSON.stringify(toCompletionId(id))},"object":"chat.completion.chunk",` +
    `"created":${created},"model":${JSON.stringify(model)},"choices":[`
  const chunk = (delta: string, finishReason: string) =>
    `${head}{"index":0,"delta":{${delta}},"finish_reason":${finishReason}}]}\n\n`
  const textHead = `${head}{"index":0,"delta":{"content":`
  const reasoningHead = `${head}{"index":0,"delta":{"reasoning_content":`
  const deltaTail = '},"finish_reason":null}]}\n\n'

  let begun = false
  let ended = false

  function renderEnd(event: Extract<OutputEvent, { type: 'generation-end' }>): string {
    ended = true
    const finish = chunk('', JSON.stringify(toFinishReason(event.finishReason)))
    const usage = includeUsage ? `${head}],"usage":${JSON.stringify(toChatUsage(event.usage))}}\n\n` : ''
    return finish + usage + DONE
  }

  function renderDelta(event: Exclude<OutputEvent, { type: 'generation-end' }>, text: string): string {
    if (event.type === 'text-delta') return textHead + quote(text) + deltaTail
    if (event.type === 'reasoning-delta') return reasoningHead + quote(text) + deltaTail
    if (event.type === 'tool-call-start') {
      // Clients concatenate what is repeated, so only this delta has id, type and name.
      const names = `"id":${quote(event.id)},"type":"function","function":{"name":${quote(event.name)},"arguments":""}`
      return chunk(`"tool_calls":[{"index":${event.index},${names}}]`, 'null')
    }
    return chunk(`"tool_calls":[{"index":${event.index},"function":{"arguments":${quote(text)}}}]`, 'null')
  }

  return {
    render(events) {
      if (events.length === 0) return ''
      let frames = begun ? '' : chunk('"role":"assistant","content":""', 'null')
      begun = true
      for (let at = 0; at < events.length; at += 1) {
        const event = events[at]
        if (event === undefined || ended) break
        if (event.type === 'generation-end') frames += renderEnd(event)
        else {
          let text = 'text' in event ? event.text : ''
          for (
            let next = events[at + 1];
            next !== undefined && continues(event, next);
            next = events[at + 1]
          ) {
            text += next.text
            at += 1
          }
          frames += renderDelta(event, text)
        }
      }
      return frames
    },
    get ended() {
      return ended
    },
    renderError: (body) => `data: ${JSON.stringify(body)}\n\n${DONE}`,
  }
}

type TextEvent = Extract<OutputEvent, { text: string }>

/** Whether `next` is more of the same delta. */
function continues(event: OutputEvent, next: OutputEvent): next is TextEvent {
  if (!('text' in next) || event.type !== next.type) return false
  return event.type !== 'tool-call-delta' || next.type !== 'tool-call-delta' || event.index === next.index
}

/**
 * JSON text of a string. Three characters that JSON leaves as they are end a line for readers that split
 * Unicode's way (Python's `splitlines`), and would tear a frame: they are escaped as well.
 */
function quote(text: string): string {
  const json = JSON.stringify(text)
  return LINE_ENDS.test(json) ? json.replaceAll(LINE_ENDS_ALL, toEscape) : json
}

const LINE_ENDS = /[\u0085\u2028\u2029]/
const LINE_ENDS_ALL = /[\u0085\u2028\u2029]/g

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
