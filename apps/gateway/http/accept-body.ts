import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'

/**
 * Makes Fastify hand every body to its handler as one buffer, whatever its content type says: any content type
 * is read as JSON (`parse-body.ts`), and what is not JSON is a 400, never a 415. So the header is overwritten
 * before Fastify looks at it; a malformed one would be refused before any parser of ours runs.
 */
export function installAcceptBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
  app.addHook('onRequest', (request, _reply, done) => {
    request.headers['content-type'] = 'application/json'
    done()
  })
}

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
