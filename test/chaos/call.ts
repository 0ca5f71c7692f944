import { request } from 'node:http'
import type { Ask } from './asks.ts'

/** One request as its client saw it. Times are values of `performance.now()`. */
export type Call = {
  readonly gateway: string
  /** The header `x-request-id`; null if no headers arrived. */
  readonly id: string | null
  readonly status: number | null
  readonly body: string
  /**
   * - `complete`: the whole response arrived.
   * - `refused`: no connection could be opened.
   * - `lost`: the connection broke.
   * - `left`: the client hung up, as planned.
   * - `hang`: there was no end within the limit.
   */
  readonly end: 'complete' | 'refused' | 'lost' | 'left' | 'hang'
  readonly startMs: number
  readonly endMs: number
}

/** Sends a request on a new connection. Never rejects. */
export async function call(options: {
  gateway: { name: string; baseUrl: string }
  apiKey: string
  ask: Ask
  hangMs: number
  /** Hangs up when this much of the body has arrived. */
  leaveAfterBytes?: number | undefined
}): Promise<Call> {
  const { gateway, ask, leaveAfterBytes = Number.POSITIVE_INFINITY } = options
  const { promise, resolve } = Promise.withResolvers<Call['end']>()
  const body = JSON.stringify(ask.body)
  const startMs = performance.now()
  let id: string | null = null
  let status: number | null = null
  let received = ''

  const outgoing = request(`${gateway.baseUrl}${ask.path}`, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${options.apiKey}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...ask.headers,
    },
  })
  const timer = setTimeout(() => {
    resolve('hang')
    outgoing.destroy()
  }, options.hangMs)
  outgoing.on('response', (response) => {
    const header = response.headers['x-request-id']
    id = typeof header === 'string' ? header : null
    status = response.statusCode ?? null
    response.setEncoding('utf8')
    response.on('data', (piece: string) => {
      received += piece
      if (received.length < leaveAfterBytes) return
      resolve('left')
      outgoing.destroy()
    })
    response.on('error', () => resolve('lost'))
    response.on('close', () => resolve(response.complete ? 'complete' : 'lost'))
  })
  outgoing.on('error', (error) =>
    resolve('code' in error && error.code === 'ECONNREFUSED' ? 'refused' : 'lost'),
  )
  outgoing.end(body)
  const end = await promise
  clearTimeout(timer)
  return { gateway: gateway.name, id, status, body: received, end, startMs, endMs: performance.now() }
}
