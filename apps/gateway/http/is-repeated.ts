import type { IncomingHttpHeaders } from 'node:http'

/** Clients that Stainless generates (OpenAI's and others) count the attempts of one call in this header, from 0. */
const RETRY_COUNT = 'x-stainless-retry-count'

/** Returns true if the client library marks the request as the repetition of a request that was refused or failed. */
export function isRepeated(headers: IncomingHttpHeaders): boolean {
  const count = headers[RETRY_COUNT]
  return typeof count === 'string' && /^0*[1-9]\d*$/u.test(count)
}
