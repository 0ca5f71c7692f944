import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isAnthropic } from './api-style.ts'

/** A caller's own request id may be printable ASCII without spaces, which is safe in every log and header. */
const WELL_FORMED = /^[\x21-\x7e]{1,128}$/

/**
 * Puts `x-request-id` and `x-client-request-id` on every response. Responses of Anthropic's interface have the id also
 * as `request-id`, where the clients of that interface read it.
 */
export function installRequestId(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    setRequestId(request, reply)
    if (isAnthropic(request)) reply.raw.setHeader('request-id', request.id)
    done()
  })
}

/**
 * Puts `x-request-id` on a response, and the caller's own id as `x-client-request-id` if the caller sent a well-formed
 * id. The caller's id is only echoed: nothing in Millrace is identified by it.
 *
 * The headers are set on the raw response, because a hijacked stream does not pass through Fastify's reply.
 */
export function setRequestId(request: FastifyRequest, reply: FastifyReply): void {
  reply.raw.setHeader('x-request-id', request.id)
  const own = request.headers['x-request-id']
  if (typeof own === 'string' && WELL_FORMED.test(own)) reply.raw.setHeader('x-client-request-id', own)
}
