import { Server, ServerCredentials, type ServerOptions } from '@grpc/grpc-js'

/**
 * Binds `server` to `address` (`host:port`, port 0 for a free one) and resolves with the port. The server speaks
 * plaintext unless `credentials` are given. The simulator gives none: real engines speak plaintext alone, because they
 * are called within a pod.
 */
export async function bindGrpc(
  server: Server,
  address: string,
  credentials: ServerCredentials = ServerCredentials.createInsecure(),
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  server.bindAsync(address, credentials, (error, port) => {
    if (error) reject(new Error(`cannot listen on ${address}: ${error.message}`, { cause: error }))
    else resolve(port)
  })
  return await promise
}

/** Stops accepting calls, lets running calls end for `graceMs`, then aborts them. */
export async function closeGrpc(server: Server, graceMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(() => {
    server.forceShutdown()
    // A client that has stopped reading keeps its socket half open, and tryShutdown would never resolve.
    resolve()
  }, graceMs)
  server.tryShutdown(() => resolve())
  await promise
  clearTimeout(timer)
}

/** No message limit in either direction, because one engine message may repeat a whole long output. */
export const UNLIMITED_MESSAGES = {
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
} as const satisfies ServerOptions
