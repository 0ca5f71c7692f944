import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { TLSSocket } from 'node:tls'

/**
 * Calls `onOpening` for each TLS connection that this process begins to open, until the returned function is called.
 */
export function watchTlsConnections(onOpening: (socket: TLSSocket) => void): () => void {
  // The channel of all client connections: https://nodejs.org/api/diagnostics_channel.html#event-netclientsocket
  const onMessage = (message: unknown) => {
    if (typeof message !== 'object' || message === null || !('socket' in message)) return
    if (message.socket instanceof TLSSocket) onOpening(message.socket)
  }
  subscribe('net.client.socket', onMessage)
  return () => void unsubscribe('net.client.socket', onMessage)
}
