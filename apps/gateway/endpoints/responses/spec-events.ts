import { createSharedEvents, type ItemEvents, type WriteEvent } from './item-events.ts'

/**
 * The six event types of the interface: text deltas, and each message and each call when it is complete. Reasoning has
 * no events; only the final response contains it.
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
