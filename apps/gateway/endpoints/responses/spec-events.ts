import { createSharedEvents, type ItemEvents, type WriteEvent } from './item-events.ts'

/**
 * The interface's six types of events and no other: text as it comes, each message and each call when it is
 * done. Thinking has none and is in the final response.
 */
export function createSpecEvents(write: WriteEvent): ItemEvents {
  const { textDelta, textDone, itemDone } = createSharedEvents(write)
  return {
    begin: () => '',
    add: (item, text) => (item.start.type === 'text' ? textDelta(item, text) : ''),
    end(item, part, json) {
      if (part.type === 'reasoning') return ''
      return (part.type === 'text' ? textDone(item, part.text) : '') + itemDone(item, json)
    },
  }
}
