import type { Redis } from 'ioredis'

const EVERY_MS = 200

/**
 * Reads what arrives at a connection five times a second, until the returned function is called. Of a message that is
 * read alone, most of the work is to wake up and to run code that has left the processor's caches: at 700 messages a
 * second a quarter of what a watched console needs (`npm run bench:console`). Meanwhile 64 KiB wait in this process and the
 * rest in the socket; each time all of it is read.
 */
export function gatherReads(connection: Redis): () => void {
  const timer = setInterval(() => {
    const { status, stream } = connection
    // To open a connection takes several answers, one after the other.
    if (status !== 'ready') return
    stream.resume()
    // What waited in this process is read before this, and what waited in the socket as well: sockets are polled between
    // timers and immediates.
    setImmediate(() => {
      if (connection.status === 'ready') stream.pause()
    })
  }, EVERY_MS)
  return () => {
    clearInterval(timer)
    connection.stream?.resume()
  }
}
