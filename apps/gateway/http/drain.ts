import type { FastifyInstance } from 'fastify'
import { shuttingDown } from '../retry-after.ts'

const INTERVAL_MS = 100

/**
 * Installs a hook that refuses requests while the gateway stops. It refuses them before their body is read, with 503,
 * `retry-after: 1` and `connection: close`. Call this function after hooks that every answer needs, such as the hook
 * that sets the request id, and before hooks that read a request.
 *
 * The returned function begins the drain and resolves when no request is in progress; the caller then closes the app.
 * Until then the gateway goes on accepting connections. A load balancer may open connections for seconds after it was
 * informed of the stop, and an answer with a time to retry is better than a refused connection. Connections that become
 * idle are closed, so that their clients open new connections to other gateways.
 */
export function installDrain(app: FastifyInstance): () => Promise<void> {
  let draining = false
  let inProgress = 0
  const { promise: idle, resolve } = Promise.withResolvers<void>()

  app.addHook('preClose', async () => {
    draining = true
  })
  app.addHook('onRequest', async (_request, reply) => {
    if (draining) {
      reply.header('connection', 'close')
      throw shuttingDown()
    }
    inProgress += 1
    // `close` is emitted only once, so `on` is enough: `once` would keep a wrapper for each open stream.
    reply.raw.on('close', () => {
      inProgress -= 1
      if (draining && inProgress === 0) resolve()
    })
  })

  return async () => {
    draining = true
    if (inProgress === 0) resolve()
    const timer = setInterval(() => app.server.closeIdleConnections(), INTERVAL_MS)
    app.server.once('close', () => clearInterval(timer))
    await idle
  }
}
