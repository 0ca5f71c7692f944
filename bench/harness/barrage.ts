import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import type { HostileBody } from './hostile-bodies.ts'

/** The number of answers by kind of request and status. */
export type BarrageReport = Record<string, Record<string, number>>

/** The connections that the flood opens each second. Half of them send nothing, the other half sends half a header. */
const CONNECTIONS_PER_S = 50

type Target = {
  readonly baseUrl: string
  readonly apiKey: string
}

/**
 * Sends hostile requests on `connections` connections until `signal` aborts. Each connection sends one request after
 * another, and takes the `bodies` in turn. A flood of further connections runs at the same time. At the end, waits for
 * the open requests.
 */
export async function runBarrage(
  options: Target & { bodies: readonly HostileBody[]; connections: number; signal: AbortSignal },
): Promise<BarrageReport> {
  const { bodies, connections, signal } = options
  const report: BarrageReport = {}
  const stopFlood = floodConnections(options.baseUrl)
  const agent = new Agent({ keepAlive: true, maxSockets: connections })

  async function follow(first: number) {
    for (let turn = first; !signal.aborted; turn += 1) {
      const hostile = bodies[turn % bodies.length]
      if (hostile === undefined) throw new Error('there are no hostile bodies')
      const status = await post(options, hostile, agent)
      const statuses = (report[hostile.name] ??= {})
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }

  try {
    await Promise.all(Array.from({ length: connections }, async (_, index) => await follow(index)))
  } finally {
    agent.destroy()
    report['connections'] = { opened: stopFlood() }
  }
  return report
}

async function post({ baseUrl, apiKey }: Target, { path, body }: HostileBody, agent: Agent): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const outgoing = request(baseUrl + path, {
    method: 'POST',
    agent,
    headers: { authorization: `Bearer ${apiKey}`, 'content-length': Buffer.byteLength(body) },
  })
  outgoing.on('response', (response) => {
    response.resume()
    response.on('end', () => resolve(String(response.statusCode)))
    response.on('error', () => resolve('broken'))
  })
  outgoing.on('error', () => resolve('broken'))
  outgoing.end(body)
  return await promise
}
/**
 * Opens connections at a steady rate and closes each after two seconds. Returns a function that stops the flood and
 * returns how many connections were opened.
 */
function floodConnections(baseUrl: string): () => number {
  const { port, hostname } = new URL(baseUrl)
  let opened = 0
  const timer = setInterval(() => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    if (opened % 2 === 0) socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-slow: ')
    setTimeout(() => socket.destroy(), 2_000)
    opened += 1
  }, 1_000 / CONNECTIONS_PER_S)
  return () => {
    clearInterval(timer)
    return opened
  }
}
