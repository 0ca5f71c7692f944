import { toJson } from '../to-json.ts'
import {
  createSharedEvents,
  withLogprobs,
  type FinishedItem,
  type ItemEvents,
  type OpenItem,
  type WriteEvent,
} from './item-events.ts'
import { toItem, toOutputText, toSummaryText, type ItemPart } from './to-items.ts'

/**
 * Writes OpenAI's complete sequence of events. For each item it has `output_item.added`, the `added` event of the part,
 * the deltas, and then `done` events for the text, the part and the item. Reasoning is sent as one summary
 * part that contains all of the reasoning, because clients show summaries. Only event types of OpenAI's list are used,
 * because any other type crashes the stream helper of the openai library.
 */
export function createFullEvents(write: WriteEvent): ItemEvents {
  const { textDelta, textDone, itemDone } = createSharedEvents(write)

  const itemAdded = (item: OpenItem) =>
    write('response.output_item.added', `"output_index":${item.index},"item":${toJson(toAddedItem(item))}`)
  const writeAt = (type: string, { place }: OpenItem, fields: string) => write(type, `${place},${fields}`)

  return {
    begin(item) {
      const added = itemAdded(item)
      if (item.start.type === 'tool-call') return added
      return item.start.type === 'text'
        ? added + writeAt('response.content_part.added', item, `"content_index":0,"part":${NO_TEXT}`)
        : added +
            writeAt('response.reasoning_summary_part.added', item, `"summary_index":0,"part":${NO_SUMMARY}`)
    },

    add(item, text, logprobs) {
      if (item.start.type === 'text') return textDelta(item, text, logprobs)
      return item.start.type === 'reasoning'
        ? writeAt('response.reasoning_summary_text.delta', item, `"summary_index":0,"delta":${toJson(text)}`)
        : writeAt('response.function_call_arguments.delta', item, `"delta":${toJson(text)}`)
    },

    end(item, part, finished) {
      return partDone(item, part, finished) + itemDone(item, finished)
    },
  }

  function partDone(item: OpenItem, part: ItemPart, finished: FinishedItem): string {
    if (part.type === 'tool-call') {
      const { name, arguments: text } = part.call
      const fields = `"name":${toJson(name)},"arguments":${toJson(text)}`
      return writeAt('response.function_call_arguments.done', item, fields)
    }
    if (part.type === 'text') {
      const json = withLogprobs(toJson(toOutputText(part)), finished.logprobs)
      const fields = `"content_index":0,"part":${json}`
      return textDone(item, part.text, finished) + writeAt('response.content_part.done', item, fields)
    }
    const text = `"summary_index":0,"text":${toJson(part.text)}`
    const summary = `"summary_index":0,"part":${toJson(toSummaryText(part.text))}`
    return (
      writeAt('response.reasoning_summary_text.done', item, text) +
      writeAt('response.reasoning_summary_part.done', item, summary)
    )
  }
}

const NO_TEXT = toJson(toOutputText({ text: '' }))
const NO_SUMMARY = toJson(toSummaryText(''))

/** Returns the item in `output_item.added`, which has no parts yet. */
function toAddedItem({ start, id }: OpenItem) {
  const item = toItem(start, { id, status: 'in_progress' })
  if (item.type === 'message') return { ...item, content: [] }
  return item.type === 'reasoning' ? { ...item, summary: [], content: [] } : item
}
