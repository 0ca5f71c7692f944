import type { OutputEvent } from '../../generation/generation-call.ts'
import type { Answer, StreamRenderer } from '../generation-endpoint.ts'
import { toJson } from '../to-json.ts'
import { toChatUsage, toCompletionId, toFinishReason } from './shared-fields.ts'

/** The request's options that change the rendered stream. */
export type ChatOptions = { readonly includeUsage: boolean }

const DONE = 'data: [DONE]\n\n'

/**
 * Creates the renderer of one stream. The JSON that all chunks share is built once, so that only the text of a
 * delta is escaped for each chunk. Consecutive deltas of one kind in a batch are merged into one chunk.
 */
export function createChatChunks({ id, created, model, options }: Answer<ChatOptions>): StreamRenderer {
  const head =
    `data: {"id":${JSON.stringify(toCompletionId(id))},"object":"chat.completion.chunk",` +
    `"created":${created},"model":${JSON.stringify(model.id)},"choices":[`
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
    const usage = options.includeUsage
      ? `${head}],"usage":${JSON.stringify(toChatUsage(event.usage))}}\n\n`
      : ''
    return finish + usage + DONE
  }

  function renderDelta(event: Exclude<OutputEvent, { type: 'generation-end' }>): string {
    switch (event.type) {
      case 'text-delta':
        return textHead + toJson(event.text) + deltaTail
      case 'reasoning-delta':
        return reasoningHead + toJson(event.text) + deltaTail
      case 'tool-call-start': {
        // Clients concatenate the strings of all deltas, so only the first one has id, type and name.
        const names = `"id":${toJson(event.id)},"type":"function","function":{"name":${toJson(event.name)},"arguments":""}`
        return chunk(`"tool_calls":[{"index":${event.index},${names}}]`, 'null')
      }
      case 'tool-call-delta': {
        const text = `"function":{"arguments":${toJson(event.text)}}`
        return chunk(`"tool_calls":[{"index":${event.index},${text}}]`, 'null')
      }
    }
  }

  return {
    headers: {},
    render(events) {
      if (events.length === 0) return ''
      let chunks = begun ? '' : chunk('"role":"assistant","content":""', 'null')
      begun = true
      for (const event of mergeDeltas(events)) {
        if (ended) break
        chunks += event.type === 'generation-end' ? renderEnd(event) : renderDelta(event)
      }
      return chunks
    },
    ended: () => ended,
    /** The error and `[DONE]`, without a chunk that has a finish reason. */
    renderError: (body) => `data: ${toJson(body)}\n\n${DONE}`,
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

/** Whether `next` is of the same kind and, for tool calls, of the same call. */
function continuesDelta(delta: Delta, next: OutputEvent): next is Delta {
  if (!('text' in next) || delta.type !== next.type) return false
  return delta.type !== 'tool-call-delta' || next.type !== 'tool-call-delta' || delta.index === next.index
}
