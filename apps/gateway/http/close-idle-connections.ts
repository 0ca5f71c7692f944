import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

const LOOK_MS = 100

/**
 * Node closes the connections that are idle when a server closes, but not those that become idle afterwards, nor
 * those that never carried anything (undici opens one ahead after an abort): a client that keeps one open would
 * hold the closing gateway until somebody's time-out. So while it closes, they are closed as they appear.
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
    }, LOOK_MS)
    app.server.once('close', () => clearInterval(timer))
  })
}
