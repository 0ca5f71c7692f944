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
