import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ApiErrorCode } from '#libs/contracts/api-error.ts'
import { NO_SPAN, type Span } from '#libs/telemetry/span.ts'
import type { Tracing } from '#libs/telemetry/tracing.ts'

export type RequestTraces = {
  /** Returns the span of a request. It ends with the response. */
  spanOf(request: FastifyRequest): Span
  /** Notes that the request failed, before or after its response had begun. */
  noteFailure(request: FastifyRequest, code: ApiErrorCode): void
}

/**
 * Begins a trace for each POST request whose path is a route; all requests that run a generation are among them. A
 * caller's own `traceparent` becomes a link instead of the parent; otherwise callers would decide how much is traced,
 * and could join each other's traces.
 */
export function traceRequests(app: FastifyInstance, tracing: Tracing): RequestTraces {
  const spans = new WeakMap<FastifyRequest, Span>()

  app.addHook('onRequest', (request, reply, done) => {
    const { url } = request.routeOptions
    if (request.method === 'POST' && url !== undefined) {
      const { traceparent } = request.headers
      const span = tracing.start(`POST ${url}`, {
        kind: 'SERVER',
        attributes: { 'http.request.method': 'POST', 'http.route': url, 'millrace.request.id': request.id },
        links: typeof traceparent === 'string' ? [traceparent] : [],
      })
      if (span === NO_SPAN) return done()
      spans.set(request, span)
      // `close` is emitted only once, so `on` is enough: `once` would keep a wrapper for each open stream.
      reply.raw.on('close', () => {
        span.set({ 'http.response.status_code': reply.raw.statusCode })
        span.end()
      })
    }
    done()
  })

  const spanOf = (request: FastifyRequest) => spans.get(request) ?? NO_SPAN
  return { spanOf, noteFailure: (request, code) => spanOf(request).fail(code) }
}
