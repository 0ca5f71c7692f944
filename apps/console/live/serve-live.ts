import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LIVE_ADDRESSES, MODELS, parseViewName, type ViewName } from '#libs/live-view/addresses.ts'
import type { Live } from './live.ts'

/** The most viewers of one console; each has a socket. */
const MOST_VIEWERS = 200
/** A stream ends after this time, and the page opens a new one. */
const STREAM_LIMIT_MS = 10 * 60_000
/** How often the permission of the viewer of an open stream is checked. */
const CHECK_MS = 15_000

/**
 * Serves the live picture. `GET /live/v1/stream?view=…` answers with a view as server-sent events, and each view also
 * has an address that answers once, with JSON. `authorize` rejects if the sender of the request may not read the
 * picture. `isRevoked` is called repeatedly while a stream is open: it resolves to true if billing refuses the sender.
 * Otherwise it resolves to false, also while billing does not answer.
 */
export function serveLive(
  app: FastifyInstance,
  deps: {
    live: Live
    authorize: (request: FastifyRequest) => Promise<void>
    isRevoked: (request: FastifyRequest) => Promise<boolean>
    unixMs: () => number
    checkEveryMs?: number
  },
): void {
  const { live, authorize, isRevoked, unixMs, checkEveryMs = CHECK_MS } = deps

  const once = (address: string, view: ViewName) =>
    app.get(address, async (request, reply) => {
      await authorize(request)
      await live.touch()
      void reply.header('cache-control', 'no-store')
      return { asOf: new Date(unixMs()).toISOString(), view: live.read(view) }
    })
  once(LIVE_ADDRESSES.now, 'now')
  once(LIVE_ADDRESSES.workers, 'workers')
  once(LIVE_ADDRESSES.requests, 'requests')
  app.get<{ Params: { id: string } }>(`${MODELS}:id`, async (request, reply) => {
    await authorize(request)
    await live.touch()
    void reply.header('cache-control', 'no-store')
    return { asOf: new Date(unixMs()).toISOString(), view: live.read(`model:${request.params.id}`) }
  })

  app.get<{ Querystring: { view?: unknown } }>('/live/v1/stream', async (request, reply) => {
    await authorize(request)
    const { view: given } = request.query
    const view = typeof given === 'string' ? parseViewName(given) : null
    if (view === null)
      return await refuse(reply, 400, 'There is no such view: it is now, workers, requests or model:ID.')
    if (live.streams.viewers() >= MOST_VIEWERS)
      return await refuse(reply, 503, 'This console has too many viewers.')
    // Fastify does not send the headers that hooks have set for a hijacked reply, so they are copied.
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value)
    }
    reply.hijack()
    stream(reply.raw, { live, view, checkEveryMs, isRevoked: async () => await isRevoked(request) })
    return reply
  })
}

async function refuse(reply: FastifyReply, status: number, message: string): Promise<FastifyReply> {
  return await reply.code(status).send({ error: { code: 'invalid_request', message } })
}

function stream(
  response: ServerResponse,
  of: { live: Live; view: ViewName; checkEveryMs: number; isRevoked: () => Promise<boolean> },
): void {
  const { live, view, checkEveryMs, isRevoked } = of
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // Without this header nginx would keep events back until its buffer is full.
    'x-accel-buffering': 'no',
  })
  const remove = live.streams.add(view, {
    write: (text) => response.write(text),
    onDrain: (resume) => response.once('drain', resume),
  })
  const limit = setTimeout(() => response.end(), STREAM_LIMIT_MS)
  // The next check is scheduled after the present one has ended, so that slow checks do not pile up.
  const check = async () => {
    if (await isRevoked()) response.end()
    else if (!response.destroyed) next = setTimeout(() => void check(), checkEveryMs)
  }
  let next = setTimeout(() => void check(), checkEveryMs)
  response.on('close', () => {
    clearTimeout(limit)
    clearTimeout(next)
    remove()
  })
  // After an error the connection is of no use.
  response.on('error', () => response.destroy())
}
