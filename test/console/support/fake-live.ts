import type { FastifyInstance, FastifyRequest } from 'fastify'
import { parseViewName } from '#libs/live-view/addresses.ts'
import { toDelta, type Parts } from '#libs/live-view/deltas.ts'
import type { FakePicture } from './fake-picture.ts'

const OMITTED = ['histories', 'longHistories', 'sparklines']

/** Creates the live streams of a made-up picture, so that the page shows a cluster of that size. */
export function createFakeLive(picture: FakePicture): {
  serve(app: FastifyInstance, tokenOf: (request: FastifyRequest) => string): void
  /** Stops all sending, like a console whose process hangs. */
  freeze(): void
} {
  let isFrozen = false

  function viewOf(name: string, tick: number): Parts {
    if (name === 'now') return picture.now(tick)
    if (name === 'workers') return picture.workers(tick)
    if (name === 'requests') return picture.requests()
    return picture.model(name.slice('model:'.length), tick)
  }

  return {
    freeze() {
      isFrozen = true
    },
    serve(app, tokenOf) {
      app.get<{ Querystring: { view?: string } }>('/live/v1/stream', (request, reply) => {
        tokenOf(request)
        const name = parseViewName(request.query.view ?? '')
        if (name === null) {
          void reply.status(404).send()
          return
        }
        reply.hijack()
        const { raw } = reply
        raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
        let tick = 0
        let before = viewOf(name, tick)
        const send = (event: string, data: unknown) =>
          raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
        send('snapshot', { asOf: new Date().toISOString(), view: before })
        const timer = setInterval(() => {
          if (isFrozen) return
          tick += 1
          const after = viewOf(name, tick)
          send('delta', toDelta(omit(before), omit(after), new Date().toISOString()))
          before = after
        }, 1_000)
        raw.once('close', () => clearInterval(timer))
      })
    },
  }
}

function omit(view: Parts): Parts {
  return Object.fromEntries(Object.entries(view).filter(([name]) => !OMITTED.includes(name)))
}
