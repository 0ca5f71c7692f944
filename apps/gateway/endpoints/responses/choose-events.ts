import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from '#libs/contracts/api-error.ts'

/** Asks for a set of events, and says in the answer which one it is. */
export const EVENTS_HEADER = 'x-responses-events'

/**
 * `spec`: the six types of the interface. `full`: OpenAI's complete order, without which the clients that are
 * known here lose text or calls, or fail.
 */
export type EventSet = 'spec' | 'full'

/**
 * The set of a stream's events. Throws an `ApiError` `invalid_request` when the header asks for another one.
 * Clients are told by what each of them really sends; `accept` says nothing, they send any.
 */
export function chooseEvents(headers: IncomingHttpHeaders): EventSet {
  const asked = headers[EVENTS_HEADER]
  if (asked === 'spec' || asked === 'full') return asked
  if (asked !== undefined) {
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
