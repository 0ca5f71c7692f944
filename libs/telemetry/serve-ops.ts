import { createServer, type RequestListener, type Server } from 'node:http'
import { collectDefaultMetrics, type Registry } from '@prometheus-io/client'
import { declareMetrics } from './declare-metrics.ts'
import { whyLogFails } from './log-output.ts'
import { toLoggableError } from './loggable-error.ts'
import { IDLE_MONITORS, measureEventLoopLag } from './event-loop-lag.ts'
import { VERSION } from './version.ts'

export type Readiness = () => { ready: true } | { ready: false; reason: string }

/**
 * Serves `/metrics` (Prometheus), `/healthz` (200 while the event loop runs) and `/readyz` (200, or 503 with the
 * reason) on a separate port, so that they are not reachable through the public port. A process whose log cannot be
 * written stays ready, and `/readyz` says so. Resolves when the server listens; rejects when the port is taken.
 */
export async function serveOps(options: {
  /** The app's name, for `millrace_build_info`. */
  app: string
  host: string
  port: number
  registry: Registry
  readiness: Readiness
  /** Further handlers of the app by exact URL; a handler writes its whole answer. */
  routes?: ReadonlyMap<string, RequestListener>
}): Promise<Server> {
  const { registry, readiness } = options
  collectDefaultMetrics({ register: registry, ...IDLE_MONITORS })
  measureEventLoopLag(registry)
  declareMetrics(registry).gauge({
    name: 'millrace_build_info',
    help: 'Always 1; the labels name the app and its version',
    labelNames: ['app', 'version'],
    read: () => [[{ app: options.app, version: VERSION }, 1]],
  })
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string) => {
      response.writeHead(status, { 'content-type': type }).end(body)
    }
    const route = options.routes?.get(request.url ?? '')
    if (route !== undefined) {
      route(request, response)
    } else if (request.url === '/metrics') {
      registry.metrics().then(
        (text) => answer(200, registry.contentType, text),
        (error: unknown) => answer(500, 'text/plain', toLoggableError(error).message),
      )
    } else if (request.url === '/healthz') {
      answer(200, 'text/plain', 'ok\n')
    } else if (request.url === '/readyz') {
      const state = readiness()
      const logFailure = whyLogFails()
      const note = logFailure === null ? '' : `, but the log cannot be written: ${logFailure}`
      if (state.ready) answer(200, 'text/plain', `ready${note}\n`)
      else answer(503, 'text/plain', `${state.reason}\n`)
    } else {
      answer(404, 'text/plain', 'not found\n')
    }
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(options.port, options.host, resolve)
  await promise
  return server
}

/** Closes the listener and its idle connections. */
export async function closeOps(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  server.close(() => resolve())
  server.closeAllConnections()
  await promise
}
