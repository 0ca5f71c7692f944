import type { OutputPart } from '../../generation/collect.ts'
import { toJson } from '../to-json.ts'

/** An item that is being written. */
export type OpenItem = {
  /** As it began: without text or arguments. */
  readonly start: OutputPart
  readonly id: string
  readonly index: number
  /** The fields that name it on its events. */
  readonly place: string
}

/** How a set of events tells of an item; each function returns whole frames, or nothing. */
export type ItemEvents = {
  begin(item: OpenItem): string
  add(item: OpenItem, text: string): string
  /** `part` is all of it, `json` the finished item's JSON. */
  end(item: OpenItem, part: OutputPart, json: string): string
}

/** Writes the frame of one event of the stream; `fields` are the JSON of its fields, braces aside. */
export type WriteEvent = (type: string, fields: string) => string

/** Numbers the events of one stream from 0; `named` writes an `event:` line before each of them. */
export function createWriteEvent(options: { named: boolean }): WriteEvent {
  let sequence = 0
  return (type, fields) => {
    const name = options.named ? `event: ${type}\n` : ''
    const frame = `${name}data: {"type":"${type}","sequence_number":${sequence},${fields}}\n\n`
    sequence += 1
    return frame
  }
}

/** The events that both sets have of an item. */
export function createSharedEvents(write: WriteEvent) {
  return {
    textDelta: ({ place }: OpenItem, text: string) =>
      write('response.output_text.delta', `${place},"content_index":0,"delta":${toJson(text)},"logprobs":[]`),
    textDone: ({ place }: OpenItem, text: string) =>
      write('response.output_text.done', `${place},"content_index":0,"text":${toJson(text)},"logprobs":[]`),
    itemDone: ({ index }: OpenItem, json: string) =>
      write('response.output_item.done', `"output_index":${index},"item":${json}`),
  }
}
