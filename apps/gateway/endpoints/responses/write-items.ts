import { brokenOutput, type OutputPart } from '../../generation/collect.ts'
import type { OutputEvent } from '../../generation/generation-call.ts'
import { toJson } from '../to-json.ts'
import type { ItemEvents, OpenItem } from './item-events.ts'
import { toItem, toItemId } from './to-items.ts'

/** The frames of a stream's items. Deltas beside each other share an event: they wait for `flush`. */
type ItemWriter = {
  /** Throws an `ApiError` `upstream_error` for a call that goes on after its end. */
  write(event: Exclude<OutputEvent, { type: 'generation-end' }>): string
  flush(): string
  /** Ends the last item, and gives a turn without an answer an empty one, as `toItems` does. */
  end(status: 'completed' | 'incomplete'): string
  /** JSON of the ended items. */
  readonly ended: readonly string[]
}

/**
 * Items come strictly one after another: what is of another kind than the open item ends it. Kept are
 * the open item's text and the ended items' JSON, for the response that ends the stream.
 */
export function createItemWriter(events: ItemEvents, requestId: string): ItemWriter {
  const ended: string[] = []
  let open: OpenItem | null = null
  let openCall: number | null = null
  let text = ''
  /** What was not yet told of the open item. */
  let fresh = ''
  let hasAnswer = false

  function begin(start: OutputPart): string {
    const ending = endItem('completed')
    const index = ended.length
    const id = toItemId(start, requestId, index)
    open = { start, id, index, place: `"item_id":${toJson(id)},"output_index":${index}` }
    hasAnswer ||= start.type !== 'reasoning'
    return ending + events.begin(open)
  }

  function flush(): string {
    if (open === null || fresh === '') return ''
    const added = fresh
    fresh = ''
    text += added
    return events.add(open, added)
  }

  function endItem(status: 'completed' | 'incomplete'): string {
    const added = flush()
    if (open === null) return ''
    const part = withText(open.start, text)
    const json = toJson(toItem(part, { id: open.id, status }))
    const frames = added + events.end(open, part, json)
    ended.push(json)
    open = null
    openCall = null
    text = ''
    return frames
  }

  function writeText(type: 'reasoning' | 'text', delta: string): string {
    if (delta === '') return ''
    const beginning = open?.start.type === type ? '' : begin({ type, text: '' })
    fresh += delta
    return beginning
  }

  return {
    write(event) {
      if (event.type === 'text-delta') return writeText('text', event.text)
      if (event.type === 'reasoning-delta') return writeText('reasoning', event.text)
      if (event.type === 'tool-call-start') {
        const beginning = begin({
          type: 'tool-call',
          call: { id: event.id, name: event.name, arguments: '' },
        })
        openCall = event.index
        return beginning
      }
      // A response has no vectors.
      if (event.type !== 'tool-call-delta') return ''
      if (openCall !== event.index) throw brokenOutput('a tool call went on after its end')
      fresh += event.text
      return ''
    },
    flush,
    end(status) {
      const ending = endItem(status)
      return hasAnswer ? ending : ending + begin({ type: 'text', text: '' }) + endItem(status)
    },
    ended,
  }
}

function withText(start: OutputPart, text: string): OutputPart {
  if (start.type !== 'tool-call') return { ...start, text }
  return { ...start, call: { ...start.call, arguments: text } }
}
