import type { OutputEvent } from '../../generation/request/generation-call.ts'
import type { Answer, StreamRenderer } from '../generation-endpoint.ts'
import { toJson } from '../to-json.ts'
import { chooseEvents, EVENTS_HEADER } from './choose-events.ts'
import { createFullEvents } from './full-events.ts'
import { createWriteEvent } from './item-events.ts'
import { createSpecEvents } from './spec-events.ts'
import { toEndStatus } from './to-items.ts'
import { toResponse, toSeal, type ResponsesOptions } from './to-object.ts'
import { createItemWriter } from './write-items.ts'

/**
 * Creates the renderer of one stream. The stream begins with `response.created` and `response.in_progress` and ends
 * with `response.completed`, also if the output limit was reached. Throws an `ApiError` `invalid_request` if the
 * request's header `x-responses-events` names an unknown set of events.
 */
export function createResponseEvents(answer: Answer<ResponsesOptions>): StreamRenderer {
  const eventSet = chooseEvents(answer.headers)
  const write = createWriteEvent({ named: eventSet === 'full' })
  const items = createItemWriter(eventSet === 'full' ? createFullEvents(write) : createSpecEvents(write), {
    requestId: answer.id,
    spacedNames: answer.options.spacedNames,
    seal: toSeal(answer),
  })
  let begun = false
  let ended = false

  function begin(): string {
    if (begun) return ''
    begun = true
    const response = `"response":${toResponse(answer, { status: 'in_progress' }, [])}`
    return write('response.created', response) + write('response.in_progress', response)
  }

  function end({ finishReason, usage }: Extract<OutputEvent, { type: 'generation-end' }>): string {
    ended = true
    const status = toEndStatus(finishReason)
    const itemEvents = items.end(status)
    const response = toResponse(answer, { status, usage }, items.ended)
    return itemEvents + write('response.completed', `"response":${response}`)
  }

  return {
    headers: { [EVENTS_HEADER]: eventSet },
    render(events) {
      if (events.length === 0) return ''
      let rendered = begin()
      for (const event of events) {
        if (ended) break
        rendered += event.type === 'generation-end' ? end(event) : items.write(event)
      }
      return rendered + items.flush()
    },
    ended: () => ended,
    /** The error is in `response.error` and in `error`. Without the field `error`, some clients ignore the failure. */
    renderError({ error }) {
      const beginning = begin()
      const response = toResponse(answer, { status: 'failed', error }, items.ended)
      return beginning + write('response.failed', `"response":${response},"error":${toJson(error)}`)
    },
  }
}
