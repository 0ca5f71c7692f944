import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LIVE_ADDRESSES, MODELS, parseViewName } from '#libs/live-view/addresses.ts'
import type { Parts } from '#libs/live-view/deltas.ts'
import type { Live } from './live.ts'

/** Viewers of one console; each has a socket. */
const MOST_VIEWERS = 200
/** A stream ends then, so that the right to read is checked again; the page opens it anew. */
const STREAM_LIMIT_MS = 10 * 60_000

/**
 * Serves the live picture: `GET /live/v1/stream?view=…` as server-sent events, and each view once as JSON. `authorize`
 * rejects for a request whose sender may not read it.
 */
export function serveLive(
  app: FastifyInstance,
  deps: { live: Live; authorize: (request: FastifyRequest) => Promise<void>; unixMs: () => number },
): void {
  const { live, authorize, unixMs } = deps
  const { picture } = live

  const once = (address: string, read: (request: FastifyRequest) => Parts) =>
    app.get(address, async (request, reply) => {
      await authorize(request)
      await live.touch()
      void reply.header('cache-control', 'no-store')
      return { asOf: new Date(unixMs()).toISOString(), view: read(request) }
    })
  once(LIVE_ADDRESSES.now, picture.now)
  once(LIVE_ADDRESSES.workers, picture.workers)
  once(LIVE_ADDRESSES.requests, picture.requests)
  app.get<{ Params: { id: string } }>(`${MODELS}:id`, async (request, reply) => {
    await authorize(request)
    await live.touch()
    void reply.header('cache-control', 'no-store')
    return { asOf: new Date(unixMs()).toISOString(), view: picture.model(request.params.id) }
  })

  app.get<{ Querystring: { view?: unknown } }>('/live/v1/stream', async (request, reply) => {
    await authorize(request)
    const { view: given } = request.query
    const view = typeof given === 'string' ? parseViewName(given) : null
    if (view === null)
      return await refuse(reply, 400, 'There is no such view: it is now, workers, requests or model:ID.')
    if (live.streams.viewers() >= MOST_VIEWERS)
      return await refuse(reply, 503, 'This console has too many viewers.')
    // The headers that were set for every answer are lost with a hijacked one.
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value)
    }
    reply.hijack()
    stream(reply.raw, { live, view })
    return reply
  })
}

async function refuse(reply: FastifyReply, status: number, message: string): Promise<FastifyReply> {
  return await reply.code(status).send({ error: { code: 'invalid_request', message } })
}

function stream(response: ServerResponse, { live, view }: { live: Live; view: string }): void {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // nginx would keep events back until its buffer is full.
    'x-accel-buffering': 'no',
  })
  const remove = live.streams.add(view, {
    write: (text) => response.write(text),
    onDrain: (resume) => response.once('drain', resume),
  })
  const limit = setTimeout(() => response.end(), STREAM_LIMIT_MS)
  response.on('close', () => {
    clearTimeout(limit)
    remove()
  })
  // The next call is the end of the connection.
  response.on('error', () => response.destroy())
}
