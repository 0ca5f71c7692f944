import type { FastifyInstance } from 'fastify'

const LOOK_MS = 100

/**
 * Node closes the connections that are idle when a server closes, but not those that become idle afterwards:
 * a client that keeps its connection alive would hold the closing gateway until somebody's time-out. So while
 * it closes, idle connections are closed as they appear.
 */
export function closeIdleConnections(app: FastifyInstance): void {
  app.addHook('preClose', async () => {
    const timer = setInterval(() => app.server.closeIdleConnections(), LOOK_MS)
    app.server.once('close', () => clearInterval(timer))
  })
}
