import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

const INTERVAL_MS = 100

/**
 * Closes idle connections while the gateway closes. Node itself closes only the connections that are idle at the moment
 * when a server closes. It does not close connections that become idle later, nor connections that never carried a
 * request (undici opens one in advance after an abort). A client that keeps such a connection open would delay the
 * gateway's end until a time-out.
 */
export function closeIdleConnections(app: FastifyInstance): void {
  const connections = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    connections.add(socket)
    socket.on('close', () => connections.delete(socket))
  })

  app.addHook('preClose', async () => {
    const timer = setInterval(() => {
      app.server.closeIdleConnections()
      for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
    }, INTERVAL_MS)
    app.server.once('close', () => clearInterval(timer))
  })
}
