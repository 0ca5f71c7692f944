import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type ListenOptions, type Server } from 'node:net'
import { promisify } from 'node:util'

/**
 * Below the kernel's ephemeral range (32768 and up by default on Linux), from which an outgoing connection could take a
 * port between this check and its use, or while the server that has it starts again.
 */
const FIRST_PORT = 12_000
/** Ports; a run of the tests uses some hundreds. */
const ENOUGH = 2_000
const LAST_PORT = lastPortBelow(readEphemeralRange())

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

/**
 * The last port below `range`, as `ip_local_port_range` has it; where that leaves too few, as by default on Linux: then an
 * outgoing connection may take a port that is meant for a server.
 */
export function lastPortBelow(range: string): number {
  const last = Number(range.split(/\s/u)[0]) - 1
  return last >= FIRST_PORT + ENOUGH ? Math.min(last, 32_767) : 32_767
}

function readEphemeralRange(): string {
  try {
    return readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')
  } catch {
    return ''
  }
}

/** Resolves with true when a server could listen on this loopback port now. */
export async function isFree(port: number): Promise<boolean> {
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
