import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * Below the kernel's ephemeral range (32768 and up on Linux), from which an outgoing connection could take a port between
 * this check and its use.
 */
const FIRST_PORT = 12_000
const LAST_PORT = 32_767

/** Each process begins at a random port, so that two that start clusters at once rarely choose the same ones. */
let next = randomInt(FIRST_PORT, LAST_PORT + 1)

const reserved = new Set<number>()

/** Keeps `freePort` from returning `port`: a server that starts later will listen there. */
export function reservePort(port: number): void {
  reserved.add(port)
}

/** Returns a loopback port that is free now, not reserved, and that this process has not returned before. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = next
    next = port === LAST_PORT ? FIRST_PORT : port + 1
    if (!reserved.has(port) && (await isFree(port))) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const server = createServer()
  server.once('error', () => resolve(false))
  server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  return await promise
}
