import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/**
 * The origins whose pages may call the gateway, or `*` alone for all origins. If the list is empty, no page may call
 * it, and no answer has a CORS header.
 */
export type AllowedOrigins = readonly string[]

/**
 * Lets pages of the allowed origins call the interface from a browser
 * (https://fetch.spec.whatwg.org/#http-cors-protocol): answers the preflight requests of these pages, and sets the CORS
 * headers on every answer, errors included. Credentials in the sense of that protocol, which are cookies, are never
 * allowed: a page sends its key itself. Returns a function that sets the headers on an answer that passes through no
 * hook.
 *
 * The headers are set on the raw response, because a hijacked stream does not pass through Fastify's reply.
 */
export function installCors(
  app: FastifyInstance,
  origins: AllowedOrigins,
): (request: FastifyRequest, reply: FastifyReply) => void {
  if (origins.length === 0) return () => {}
  const isOpen = origins.includes('*')
  const allowed = new Set(origins)

  /** Sets the headers if pages of the request's origin may call, and returns whether they may call. */
  function setHeaders({ headers: { origin } }: FastifyRequest, { raw }: FastifyReply): boolean {
    // Caches must not give the answer for one origin to another.
    if (!isOpen) raw.setHeader('vary', 'origin')
    if (origin === undefined || !(isOpen || allowed.has(origin))) return false
    raw.setHeader('access-control-allow-origin', isOpen ? '*' : origin)
    raw.setHeader('access-control-expose-headers', EXPOSED)
    return true
  }

  app.addHook('onRequest', (request, reply, done) => {
    const isAllowed = setHeaders(request, reply)
    if (!isAllowed || !isPreflight(request)) return done()
    const { 'access-control-request-headers': wanted } = request.headers
    // The answer allows the header names that the browser asked for. `*` would not cover `authorization`, and a fixed
    // list would not cover the headers that clients add.
    if (wanted !== undefined) reply.raw.setHeader('access-control-allow-headers', wanted)
    reply.raw.setHeader('access-control-allow-methods', METHODS)
    reply.raw.setHeader('access-control-max-age', String(MAX_AGE_S))
    reply.raw.setHeader('vary', `${isOpen ? '' : 'origin, '}access-control-request-headers`)
    void reply.code(204).send()
  })
  return setHeaders
}

/** Response headers that a page may read, besides the few that every page may read. */
const EXPOSED = 'x-request-id, x-client-request-id, retry-after, preference-applied, x-responses-events'

const METHODS = 'GET, HEAD, POST, PATCH, DELETE'

/** How long a browser may keep the answer to a preflight request. Chrome keeps no such answer for longer. */
const MAX_AGE_S = 7_200

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}
