import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * Below the kernel's own range (32768 and up on Linux): a port from that range could be taken by any outgoing
 * connection between this answer and its use.
 */
const FIRST_PORT = 12_000
const LAST_PORT = 32_767

/** Each process walks from a place of its own, so that two which start clusters at once rarely meet. */
let next = randomInt(FIRST_PORT, LAST_PORT + 1)

/** A loopback port that nobody listens on now and that this process was not given before. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = next
    next = port === LAST_PORT ? FIRST_PORT : port + 1
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const server = createServer()
  server.once('error', () => resolve(false))
  server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  return await promise
}
