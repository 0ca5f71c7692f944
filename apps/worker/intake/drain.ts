import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from '#libs/telemetry/logger.ts'

export type Drain = {
  isDraining(): boolean
  /** How long the drain has lasted or took, in ms; 0 before it begins. */
  ms(): number
  /** Begins the drain unless it has begun; resolves when nothing runs any more. */
  untilDrained(): Promise<void>
  /** Begins the drain unless it has begun. */
  start(): void
  /** `POST /drain` on the operators' port, from this host alone; answers at once. */
  route(request: IncomingMessage, response: ServerResponse): void
}

/**
 * The one drain of this process. A signal, the operators' port or a message on the bus requests it. A drain cannot be
 * undone: the process keeps running, and is not ready, until it is stopped.
 */
export function createDrain(deps: {
  drainEngines: () => Promise<unknown>
  nowMs: () => number
  log: Logger
}): Drain {
  const { drainEngines, nowMs, log } = deps
  let drained: Promise<void> | null = null
  let beganMs: number | null = null
  let endedMs: number | null = null

  async function drain() {
    log.info('draining')
    beganMs = nowMs()
    await drainEngines()
    endedMs = nowMs()
    log.info({ ms: Math.round(endedMs - beganMs) }, 'drained')
  }

  const untilDrained = async () => await (drained ??= drain())

  function start() {
    untilDrained().catch((error: unknown) => log.error({ err: error }, 'the drain failed'))
  }

  return {
    isDraining: () => drained !== null,
    ms: () => (beganMs === null ? 0 : (endedMs ?? nowMs()) - beganMs),
    untilDrained,
    start,
    route(request, response) {
      if (request.method !== 'POST') {
        response.writeHead(405, { allow: 'POST', 'content-type': 'text/plain' }).end('POST\n')
        return
      }
      if (!isOfThisHost(request)) {
        response.writeHead(403, { 'content-type': 'text/plain' }).end('only from this host, to 127.0.0.1\n')
        return
      }
      start()
      response.writeHead(202, { 'content-type': 'text/plain' }).end('draining\n')
    },
  }
}

/**
 * Returns whether a request for a drain comes from this host. Anyone who may read metrics can reach the operators'
 * port, and a drain cannot be undone. So both ends of the connection must have a loopback address of this host. A
 * request from outside that the proxy of a service mesh forwards is refused, because its connection has other
 * addresses. Requests with the headers that a browser adds for a web page are refused too: no program in a container
 * sends them.
 */
function isOfThisHost({ socket, headers }: IncomingMessage): boolean {
  const isLocal = [socket.remoteAddress, socket.localAddress].every(
    (address) => address !== undefined && LOOPBACK.has(address),
  )
  return isLocal && headers.origin === undefined && headers['sec-fetch-site'] === undefined
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1'])
