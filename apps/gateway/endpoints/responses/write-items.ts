import type { TokenLogprob } from '#libs/contracts/generation-event.ts'
import { brokenOutput } from '../../generation/output/collect.ts'
import type { OutputEvent } from '../../generation/request/generation-call.ts'
import { TextLogprobs } from '../../generation/output/text-logprobs.ts'
import { toLogprobEntries } from '../fields/logprob-entries.ts'
import { toJson } from '../to-json.ts'
import { withLogprobs, type ItemEvents, type OpenItem } from './item-events.ts'
import { toItem, toItemId, toItemPart, type ItemOptions, type ItemPart } from './to-items.ts'

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
 * text and log probabilities, and the ended items' JSON, stay in memory, because the last event repeats them.
 */
export function createItemWriter(
  events: ItemEvents,
  { requestId, spacedNames, seal }: ItemOptions,
): ItemWriter {
  const ended: string[] = []
  let open: OpenItem | null = null
  let openCall: number | null = null
  let text = ''
  /** Null if no log probabilities have arrived. */
  let textLogprobs: TextLogprobs | null = null
  /** The log probabilities of `text`, as JSON: entries joined by commas. */
  let logprobs = ''
  /** Text or arguments of the open item for which no event is written yet. */
  let buffered = ''
  /** The log probabilities of `buffered`. */
  let bufferedLogprobs = ''
  let hasAnswer = false

  function begin(start: ItemPart): string {
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
    const addedLogprobs = bufferedLogprobs
    buffered = ''
    bufferedLogprobs = ''
    text += added
    logprobs = joinEntries(logprobs, addedLogprobs)
    return events.add(open, added, addedLogprobs)
  }

  function endItem(status: 'completed' | 'incomplete'): string {
    const added = flush()
    if (open === null) return ''
    const part = withText(open.start, text)
    const json = withLogprobs(toJson(toItem(part, { id: open.id, status, seal })), logprobs)
    const ending = added + events.end(open, part, { json, logprobs })
    ended.push(json)
    open = null
    openCall = null
    text = ''
    logprobs = ''
    return ending
  }

  function writeText(type: 'reasoning' | 'text', delta: string): string {
    if (delta === '') return ''
    const begins = open?.start.type !== type
    const beginning = begins ? begin({ type, text: '' }) : ''
    buffered += delta
    if (textLogprobs === null) return beginning
    if (type === 'reasoning') textLogprobs.drop()
    else bufferedLogprobs = joinEntries(bufferedLogprobs, toEntries(textLogprobs.take(delta, { begins })))
    return beginning
  }

  return {
    write(event) {
      // Only legacy completions have raw prompts.
      if (event.type === 'prompt-logprobs') return ''
      if (event.type === 'token-logprobs') {
        textLogprobs ??= new TextLogprobs()
        textLogprobs.push(event.tokens)
        return ''
      }
      if (event.type === 'text-delta') return writeText('text', event.text)
      if (event.type === 'reasoning-delta') return writeText('reasoning', event.text)
      textLogprobs?.drop()
      if (event.type === 'tool-call-start') {
        const call = { id: event.id, name: event.name, arguments: '' }
        const beginning = begin(toItemPart({ type: 'tool-call', call }, spacedNames))
        openCall = event.index
        return beginning
      }
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

/** Returns JSON: entries joined by commas. */
function toEntries(tokens: readonly TokenLogprob[]): string {
  return toJson(toLogprobEntries(tokens)).slice(1, -1)
}

function joinEntries(first: string, second: string): string {
  return first === '' || second === '' ? first + second : `${first},${second}`
}

function withText(start: ItemPart, text: string): ItemPart {
  if (start.type !== 'tool-call') return { ...start, text }
  return { ...start, call: { ...start.call, arguments: text } }
}
