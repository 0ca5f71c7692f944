import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type ListenOptions, type Server } from 'node:net'
import { promisify } from 'node:util'

/**
 * The lowest port to use. All ports are below the kernel's ephemeral range (32768 and up by default on Linux). An
 * outgoing connection could take a port of that range after `freePort` has returned it and before the server listens
 * there, or while the server restarts.
 */
const FIRST_PORT = 12_000
/** The least number of ports below the ephemeral range. A run of the tests uses some hundreds. */
const ENOUGH = 2_000
const LAST_PORT = lastPortBelow(readEphemeralRange())

/** The next port to try. Each process begins at a random port, so that it rarely meets ports of another process. */
let next = randomInt(FIRST_PORT, LAST_PORT + 1)

const reserved = new Set<number>()

/** Keeps `freePort` from returning `port`: a server that starts later will listen there. */
export function reservePort(port: number): void {
  reserved.add(port)
}

/**
 * Returns a loopback port that is free now and not reserved, and that no other running process of this machine has
 * claimed.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = next
    next = port === LAST_PORT ? FIRST_PORT : port + 1
    if (!reserved.has(port) && (await claimPort(port)) && (await isFree(port))) return port
  }
}

/**
 * Claims a port for this process. Resolves with true if no other process has claimed it. Without the claim, another
 * process could take the port before this process's server listens there, or while that server restarts. The claim is a
 * socket in Linux' abstract namespace, so it always ends with this process, even if the process is killed.
 */
export async function claimPort(port: number): Promise<boolean> {
  const claim = await listen({ path: `\0millrace-port-${port}` })
  claim?.unref()
  return claim !== null
}

/**
 * Returns the last port below `range`, a text in the form of `ip_local_port_range`. If too few ports are below the
 * range, returns Linux' default limit; an outgoing connection may then take a port that is meant for a server.
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

/** Resolves with true if a server could listen on this loopback port now. */
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
