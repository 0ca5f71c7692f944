import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Registry } from '@prometheus-io/client'
import { API_ERRORS, type ApiErrorCode } from '#libs/contracts/api-error.ts'
import { declareMetrics } from '#libs/telemetry/declare-metrics.ts'

/** Records why a request failed. A stream that fails has a status of 200, so the status alone is not enough. */
export type RecordFailure = (request: FastifyRequest, code: ApiErrorCode) => void

/** The buckets reach from an answered refusal (1 ms) to a long stream (10 minutes). */
const DURATION_BUCKETS_S = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

/**
 * Counts every request of the public interface, and measures its duration, when its response has ended. The label
 * `route` is the route's pattern or `unknown`; `code` is the error code, `ok`, or `client_gone` when the client closed
 * the connection before the end of the response.
 */
export function installRequestMetrics(
  app: FastifyInstance,
  options: { registry: Registry; nowMs: () => number },
): RecordFailure {
  const { registry, nowMs } = options
  const { counter, histogram } = declareMetrics(registry)
  const requests = counter({
    name: 'millrace_http_requests_total',
    help: 'Requests of the public interface, by their result.',
    labelNames: ['route', 'status', 'code'],
  })
  const durations = histogram({
    name: 'millrace_http_request_duration_seconds',
    help: 'Time from a request’s header to the last byte of its response.',
    labelNames: ['route'],
    buckets: DURATION_BUCKETS_S,
  })
  const failures = new WeakMap<FastifyRequest, keyof typeof API_ERRORS>()

  app.addHook('onRequest', (request, reply, done) => {
    const startedMs = nowMs()
    const response = reply.raw
    // `close` is emitted only once, so `on` is enough: `once` would keep a wrapper for each open stream.
    response.on('close', () => {
      const route = request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown')
      const failure = failures.get(request)
      const finished = response.writableFinished ? 'ok' : 'client_gone'
      requests.inc({ route, status: String(response.statusCode), code: failure ?? finished })
      durations.observe({ route }, (nowMs() - startedMs) / 1_000)
    })
    done()
  })

  return (request, code) => failures.set(request, code)
}
