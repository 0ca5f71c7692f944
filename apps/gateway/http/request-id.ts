import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** What a caller may send as its own request id: printable ASCII without spaces, which no log or header can trip on. */
const WELL_FORMED = /^[\x21-\x7e]{1,128}$/

/** Every response tells both ids. */
export function installRequestId(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    tellRequestId(request, reply)
    done()
  })
}

/**
 * Puts `x-request-id` on a response, and beside it the caller's own id as `x-client-request-id` where the caller
 * sent a well-formed one. The caller's is an echo only: it never becomes an identity of ours.
 *
 * The headers are set on the raw response, because a hijacked stream does not pass through Fastify's reply.
 */
export function tellRequestId(request: FastifyRequest, reply: FastifyReply): void {
  reply.raw.setHeader('x-request-id', request.id)
  const own = request.headers['x-request-id']
  if (typeof own === 'string' && WELL_FORMED.test(own)) reply.raw.setHeader('x-client-request-id', own)
}
