import type { IncomingMessage } from 'node:http'

/**
 * Reads and discards the rest of an upload, for at most `limitMs`. Resolves with true if the upload is complete. Many
 * clients lose an answer that is sent before the end of their upload: closing a socket with unread bytes resets the
 * connection, and the reset arrives before the answer.
 */
export async function drainBody(request: IncomingMessage, limitMs: number): Promise<boolean> {
  if (request.complete || request.closed) return request.complete
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, limitMs)
  const done = () => resolve()
  request.once('end', done)
  request.once('close', done)
  request.once('error', done)
  request.resume()
  await promise
  clearTimeout(timer)
  return request.complete
}
