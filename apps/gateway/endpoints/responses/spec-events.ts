import { createSharedEvents, type ItemEvents, type WriteEvent } from './item-events.ts'

/**
 * Writes the events of output items for clients that use the event set `spec` (`EventSet`). A message has an event for
 * each text delta, and at its end one event with its complete text and one event with the item. A call has one event,
 * when it is complete. Reasoning has no events; only the final response contains it.
 */
export function createSpecEvents(write: WriteEvent): ItemEvents {
  const { textDelta, textDone, itemDone } = createSharedEvents(write)
  return {
    begin: () => '',
    add: (item, text, logprobs) => (item.start.type === 'text' ? textDelta(item, text, logprobs) : ''),
    end(item, part, finished) {
      if (part.type === 'reasoning') return ''
      return (part.type === 'text' ? textDone(item, part.text, finished) : '') + itemDone(item, finished)
    },
  }
}
