import { randomInt } from 'node:crypto'
import { createServer, type ListenOptions, type Server } from 'node:net'
import { promisify } from 'node:util'

/**
 * Below the kernel's ephemeral range (32768 and up on Linux), from which an outgoing connection could take a port between
 * this check and its use.
 */
const FIRST_PORT = 12_000
const LAST_PORT = 32_767

/** Each process begins at a random port, so that it rarely passes over those of another one. */
let next = randomInt(FIRST_PORT, LAST_PORT + 1)

const reserved = new Set<number>()

/** Keeps `freePort` from returning `port`: a server that starts later will listen there. */
export function reservePort(port: number): void {
  reserved.add(port)
}

/**
 * Returns a loopback port that is free now, not reserved, and that no process of this machine was given before, unless
 * that one has ended.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = next
    next = port === LAST_PORT ? FIRST_PORT : port + 1
    if (!reserved.has(port) && (await claimPort(port)) && (await isFree(port))) return port
  }
}

/**
 * Resolves with true if no other process has claimed the port: one could take it before the server that it was given for
 * listens, or while that server starts again. The claim is a socket of Linux' abstract namespace, which ends with this
 * process however it ends.
 */
export async function claimPort(port: number): Promise<boolean> {
  const claim = await listen({ path: `\0millrace-port-${port}` })
  claim?.unref()
  return claim !== null
}

async function isFree(port: number): Promise<boolean> {
  const server = await listen({ port, host: '127.0.0.1' })
  if (server === null) return false
  await promisify(server.close.bind(server))()
  return true
}

async function listen(options: ListenOptions): Promise<Server | null> {
  const { promise, resolve } = Promise.withResolvers<Server | null>()
  const server = createServer()
  server.once('error', () => resolve(null))
  server.listen(options, () => resolve(server))
  return await promise
}
