import type { IncomingHttpHeaders } from 'node:http'

/** The clients that Stainless generates (OpenAI's and others) count their repetitions of one call: 0 for the first attempt. */
const RETRY_COUNT = 'x-stainless-retry-count'

/** Whether the client's library marks the request as the repetition of one that was refused or failed. */
export function isRepeated(headers: IncomingHttpHeaders): boolean {
  const count = headers[RETRY_COUNT]
  return typeof count === 'string' && /^0*[1-9]\d*$/u.test(count)
}
