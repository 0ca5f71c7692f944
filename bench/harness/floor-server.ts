// A `node:http` server that does as little as a server that streams events can do: at each step it writes one prepared
// event to each open stream. `startFloor` starts this file as a process, with the events and the time of a step. The
// server sends its port to the parent process.
import { createServer, type ServerResponse } from 'node:http'
import { z } from 'zod'

const Settings = z.object({ events: z.array(z.string()).min(1), stepMs: z.number().positive() })
export type FloorSettings = z.infer<typeof Settings>

const open = new Map<ServerResponse, number>()
let written = 0

process.once('message', (message) => {
  const { events, stepMs } = Settings.parse(message)
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.end(String(written))
      return
    }
    request.resume()
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
      open.set(response, 0)
    })
    response.on('close', () => open.delete(response))
  })

  /** Runs one step. As in the engine, a late step is not followed by a shorter one. */
  function step() {
    setTimeout(step, stepMs)
    for (const [response, next] of open) {
      response.write(events[next])
      written += 1
      if (next + 1 < events.length) {
        open.set(response, next + 1)
      } else {
        open.delete(response)
        response.end()
      }
    }
  }
  step()

  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    process.send?.(typeof address === 'object' ? address?.port : null)
  })
})
process.once('disconnect', () => process.exit())
