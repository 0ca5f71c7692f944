import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

const INTERVAL_MS = 100

/**
 * When a server closes, Node closes the connections that are idle at that moment, but not those that become idle
 * later, nor those that never carried a request (undici opens one in advance after an abort). A client that keeps one
 * open would delay the gateway's end until a time-out. While the gateway closes, such connections are closed here.
 */
export function closeIdleConnections(app: FastifyInstance): void {
  const connections = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })

  app.addHook('preClose', async () => {
    const timer = setInterval(() => {
      app.server.closeIdleConnections()
      for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
    }, INTERVAL_MS)
    app.server.once('close', () => clearInterval(timer))
  })
}
