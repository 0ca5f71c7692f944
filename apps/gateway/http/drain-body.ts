import type { IncomingMessage } from 'node:http'

/**
 * Reads and forgets what the client is still uploading, for at most `limitMs`; resolves to whether all of it
 * came. An answer that overtakes its own request is lost by many clients: closing a socket with unread bytes
 * resets it, and the reset overtakes the answer.
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
