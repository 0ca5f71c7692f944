import { toJson } from '../to-json.ts'
import type { ItemPart } from './to-items.ts'

/** An item whose events are being written. */
export type OpenItem = {
  /** The part as it began, without text or arguments. */
  readonly start: ItemPart
  readonly id: string
  readonly index: number
  /** JSON of the fields `item_id` and `output_index`. */
  readonly place: string
}

/**
 * Renders the events of one item, in one of the two sets of events (`EventSet`). Each function returns whole
 * server-sent events, or an empty string.
 */
export type ItemEvents = {
  begin(item: OpenItem): string
  /** `logprobs` is the JSON of the log probabilities of `text`, entries joined by commas; empty if there are none. */
  add(item: OpenItem, text: string, logprobs: string): string
  end(item: OpenItem, part: ItemPart, finished: FinishedItem): string
}

/** The JSON of a finished item. */
export type FinishedItem = {
  readonly json: string
  /** The entries of the log probabilities of the item's text, joined by commas; empty if there are none. */
  readonly logprobs: string
}

/** Returns one server-sent event; `fields` are its JSON fields without the enclosing braces. */
export type WriteEvent = (type: string, fields: string) => string

/** Returns a function that numbers the events of one stream from 0. With `named`, each event has an `event:` line. */
export function createWriteEvent(options: { named: boolean }): WriteEvent {
  let sequence = 0
  return (type, fields) => {
    const name = options.named ? `event: ${type}\n` : ''
    const event = `${name}data: {"type":"${type}","sequence_number":${sequence},${fields}}\n\n`
    sequence += 1
    return event
  }
}

/** Returns the item events that both sets have. */
export function createSharedEvents(write: WriteEvent) {
  return {
    textDelta: ({ place }: OpenItem, text: string, logprobs: string) =>
      write(
        'response.output_text.delta',
        `${place},"content_index":0,"delta":${toJson(text)},"logprobs":[${logprobs}]`,
      ),
    textDone: ({ place }: OpenItem, text: string, { logprobs }: FinishedItem) =>
      write(
        'response.output_text.done',
        `${place},"content_index":0,"text":${toJson(text)},"logprobs":[${logprobs}]`,
      ),
    itemDone: ({ index }: OpenItem, { json }: FinishedItem) =>
      write('response.output_item.done', `"output_index":${index},"item":${json}`),
  }
}

/**
 * Adds log probabilities to the JSON of a text part or of its message, whose last field is the empty list of them. So
 * the list is turned to JSON once, although the end of a stream repeats it four times.
 */
export function withLogprobs(json: string, logprobs: string): string {
  if (logprobs === '') return json
  const at = json.lastIndexOf('[]') + 1
  return json.slice(0, at) + logprobs + json.slice(at)
}
