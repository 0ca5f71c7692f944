import type { OutputEvent } from '../../generation/generation-call.ts'
import type { Answer, StreamRenderer } from '../generation-endpoint.ts'
import { toJson } from '../to-json.ts'
import { chooseEvents, EVENTS_HEADER } from './choose-events.ts'
import { createFullEvents } from './full-events.ts'
import { createWriteEvent } from './item-events.ts'
import { createSpecEvents } from './spec-events.ts'
import { toEndStatus } from './to-items.ts'
import { toResponse, type ResponsesOptions } from './to-object.ts'
import { createItemWriter } from './write-items.ts'

/**
 * Creates the renderer of one stream: it begins with `response.created` and `response.in_progress` and ends with
 * `response.completed`, also when the output was cut short. Throws an `ApiError` `invalid_request` when the
 * request asks for an unknown set of events.
 */
export function createResponseEvents(answer: Answer<ResponsesOptions>): StreamRenderer {
  const eventSet = chooseEvents(answer.headers)
  const write = createWriteEvent({ named: eventSet === 'full' })
  const items = createItemWriter(
    eventSet === 'full' ? createFullEvents(write) : createSpecEvents(write),
    answer.id,
  )
  let begun = false
  let ended = false

  function begin(): string {
    if (begun) return ''
    begun = true
    const response = `"response":${joinOutput(toResponse(answer, { status: 'in_progress' }), [])}`
    return write('response.created', response) + write('response.in_progress', response)
  }

  function end({ finishReason, usage }: Extract<OutputEvent, { type: 'generation-end' }>): string {
    ended = true
    const status = toEndStatus(finishReason)
    const frames = items.end(status)
    const response = joinOutput(toResponse(answer, { status, usage }), items.ended)
    return frames + write('response.completed', `"response":${response}`)
  }

  return {
    headers: { [EVENTS_HEADER]: eventSet },
    render(events) {
      if (events.length === 0) return ''
      let frames = begin()
      for (const event of events) {
        if (ended) break
        frames += event.type === 'generation-end' ? end(event) : items.write(event)
      }
      return frames + items.flush()
    },
    get ended() {
      return ended
    },
    /** The error is in the response, and beside it in `error`, without which some clients end in silence. */
    renderError({ error }) {
      const beginning = begin()
      const response = joinOutput(toResponse(answer, { status: 'failed', error }), items.ended)
      return beginning + write('response.failed', `"response":${response},"error":${toJson(error)}`)
    },
  }
}

/** JSON of a response whose items are JSON already. */
function joinOutput(response: object, items: readonly string[]): string {
  return `${toJson(response).slice(0, -1)},"output":[${items.join(',')}]}`
}
