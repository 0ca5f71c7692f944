import type { FastifyInstance } from 'fastify'

/**
 * Makes Fastify pass every body to its handler as one buffer. Any content type is read as JSON (`parse-body.ts`), so a
 * body that is not JSON is a 400, never a 415. The header `content-type` is overwritten before Fastify reads it,
 * because Fastify refuses a malformed content type before it calls a parser.
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
