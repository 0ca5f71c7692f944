import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from '#libs/contracts/api-error.ts'

/** The request header that selects the set of events, and the response header that names it. */
export const EVENTS_HEADER = 'x-responses-events'

/**
 * The set of a stream's events. `spec`: only the six event types of Millrace's interface. `full`: OpenAI's complete
 * sequence, which known client libraries need. Without the complete sequence these libraries lose text or calls, or
 * fail.
 */
export type EventSet = 'spec' | 'full'

/**
 * Returns the set of a stream's events: the set that the header `EVENTS_HEADER` selects, else `full` for known client
 * libraries and `spec` for other clients. A library is recognized by headers that it was observed to send; `accept`
 * does not distinguish libraries. Throws an `ApiError` `invalid_request` if `EVENTS_HEADER` has any other value.
 */
export function chooseEvents(headers: IncomingHttpHeaders): EventSet {
  const selected = headers[EVENTS_HEADER]
  if (selected === 'spec' || selected === 'full') return selected
  if (selected !== undefined) {
    throw new ApiError('invalid_request', `The header '${EVENTS_HEADER}': expected spec or full.`, {
      param: EVENTS_HEADER,
    })
  }
  const isKnown =
    headers['x-stainless-lang'] !== undefined ||
    CODEX.test(String(headers['originator'])) ||
    CLIENTS.test(headers['user-agent'] ?? '')
  return isKnown ? 'full' : 'spec'
}

const CODEX = /codex/i
const CLIENTS = /ai-sdk|openai\/|codex|litellm|langchain|agents\//i
