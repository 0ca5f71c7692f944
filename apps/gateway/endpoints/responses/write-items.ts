import { brokenOutput, type OutputPart } from '../../generation/collect.ts'
import type { OutputEvent } from '../../generation/generation-call.ts'
import { toJson } from '../to-json.ts'
import type { ItemEvents, OpenItem } from './item-events.ts'
import { toItem, toItemId } from './to-items.ts'

/** Writes the events of a stream's items. Consecutive deltas are buffered until `flush` and share one event. */
type ItemWriter = {
  /** Throws an `ApiError` `upstream_error` for a delta of a tool call that has ended. */
  write(event: Exclude<OutputEvent, { type: 'generation-end' }>): string
  flush(): string
  /** Ends the last item; adds an empty message if there is neither text nor a call, as `toItems` does. */
  end(status: 'completed' | 'incomplete'): string
  /** JSON of the ended items. */
  readonly ended: readonly string[]
}

/**
 * Creates the writer of one stream's items. At most one item is open; output of another kind ends it. The open item's
 * text and the ended items' JSON stay in memory, because the last event repeats them.
 */
export function createItemWriter(events: ItemEvents, requestId: string): ItemWriter {
  const ended: string[] = []
  let open: OpenItem | null = null
  let openCall: number | null = null
  let text = ''
  /** Text or arguments of the open item for which no event is written yet. */
  let buffered = ''
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
    if (open === null || buffered === '') return ''
    const added = buffered
    buffered = ''
    text += added
    return events.add(open, added)
  }

  function endItem(status: 'completed' | 'incomplete'): string {
    const added = flush()
    if (open === null) return ''
    const part = withText(open.start, text)
    const json = toJson(toItem(part, { id: open.id, status }))
    const ending = added + events.end(open, part, json)
    ended.push(json)
    open = null
    openCall = null
    text = ''
    return ending
  }

  function writeText(type: 'reasoning' | 'text', delta: string): string {
    if (delta === '') return ''
    const beginning = open?.start.type === type ? '' : begin({ type, text: '' })
    buffered += delta
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
      buffered += event.text
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
