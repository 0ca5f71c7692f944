import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export type KedaAddress = {
  /** host:port, in the form of the chart's `scaler.address`. */
  readonly address: string
  /** Sets the loopback ports of the scalers, in place of the endpoints of the chart's Service. */
  setBackends(ports: readonly number[]): void
  /** Resets all connections, as if their node were lost. */
  breakConnections(): void
  close(): Promise<void>
}

/**
 * Opens an address in place of the scalers' Service, which has no routing in the lab. KEDA's connections go to the
 * scalers in turn. If a scaler refuses a connection, the next scaler gets it. When the scaler's side ends, KEDA's side
 * ends too.
 */
export async function openKedaAddress(): Promise<KedaAddress> {
  let backends: readonly number[] = []
  let turn = 0
  const sockets = new Set<Socket>()

  function keep(socket: Socket) {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }

  function breakConnections() {
    for (const socket of sockets) socket.destroy()
  }

  function forward(client: Socket, left: number) {
    const port = backends[turn++ % Math.max(1, backends.length)]
    if (port === undefined || left === 0) {
      client.destroy()
      return
    }
    const backend = connect(port, '127.0.0.1')
    keep(backend)
    let isOpen = false
    backend.once('connect', () => {
      isOpen = true
      client.pipe(backend).pipe(client)
    })
    backend.on('error', () => {
      if (isOpen) client.destroy()
      else forward(client, left - 1)
    })
    backend.once('close', () => isOpen && client.destroy())
    client.once('close', () => backend.destroy())
  }

  const server = createServer((client) => {
    keep(client)
    client.on('error', () => client.destroy())
    forward(client, backends.length)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const place = server.address()
  if (place === null || typeof place === 'string') throw new Error('no port')
  return {
    address: `127.0.0.1:${place.port}`,
    setBackends(ports) {
      backends = ports
    },
    breakConnections,
    async close() {
      server.close()
      breakConnections()
      await once(server, 'close')
    },
  }
}
