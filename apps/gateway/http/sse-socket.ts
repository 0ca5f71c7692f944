import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { FastifyReply } from 'fastify'
import { abortOnHangUp } from './abort-on-hang-up.ts'

/**
 * The one writer of server-sent events. A stream is `waiting` (no byte sent; the route may still answer with a
 * status of its own), then `open` (headers are out), then `ended`; from each of them it can become `gone`: the
 * client hung up, or it reads so slowly that we hang up.
 *
 *     waiting → open:   the first write, or `headersAfterS` without one (then with a comment)
 *     open    → ended:  end()
 *     waiting → ended:  detach(), the answer is somebody else's
 */
type SseSocket = {
  /** Aborted when the stream is gone. */
  readonly signal: AbortSignal
  /** Whether headers are out, so that a failure can only be told by a frame. */
  readonly opened: boolean
  /** Sends whole frames, as one write to the socket. Does nothing once the stream is gone. */
  write(frames: string): void
  /** Sends the last frames and completes the response. */
  end(frames: string): void
  /** Gives up the watch over a stream that never opened; of an open one it does nothing. */
  detach(): void
}

export type SseLimits = {
  /** Headers go out after this long without an event, with a comment. */
  readonly headersAfterS: number
  /** A comment goes out after this long without a frame. */
  readonly keepAliveS: number
  /**
   * A reader is cut off when more than this is unread beyond its largest single write: the end of a long response
   * repeats all of it at once, which no reader can have read yet.
   */
  readonly queuedBytes: number
  /** How long a client may take to read the rest of an ended stream. */
  readonly lastReadS: number
}

export type SseSockets = {
  attach(reply: FastifyReply): SseSocket
  /** Stops the ticker; streams end with their routes. */
  close(): void
}

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // Proxies of the nginx family would otherwise collect the frames.
  'x-accel-buffering': 'no',
}

/** Comments are the one keep-alive that every client ignores. */
const KEEP_ALIVE = ': keep-alive\n\n'

type Watched = { onSecond(): void }

/**
 * All streams share one ticker: a timer for each would cost more than most frames. `everySecond` starts it and
 * returns its stop; `onSlowReader` is told of each reader that is cut off.
 */
export function createSseSockets(options: {
  limits: SseLimits
  everySecond: (run: () => void) => () => void
  onSlowReader: () => void
}): SseSockets {
  const watched = new Set<Watched>()
  const stopTicker = options.everySecond(() => {
    for (const stream of watched) stream.onSecond()
  })
  return {
    attach: (reply) => attach(reply, { ...options, watched }),
    close: stopTicker,
  }
}

function attach(
  reply: FastifyReply,
  { limits, onSlowReader, watched }: { limits: SseLimits; onSlowReader: () => void; watched: Set<Watched> },
): SseSocket {
  const response = reply.raw
  const hangUp = abortOnHangUp(response)
  let send: ((frames: string) => void) | null = null
  let ended = false
  let quietS = 0
  let largestBytes = 0

  const stream: Watched = {
    onSecond() {
      quietS += 1
      if (ended) {
        if (quietS > limits.lastReadS) response.destroy()
      } else if (quietS >= (send === null ? limits.headersAfterS : limits.keepAliveS)) write(KEEP_ALIVE)
    },
  }
  watched.add(stream)
  response.once('close', () => watched.delete(stream))

  function write(frames: string) {
    if (ended || frames === '' || hangUp.signal.aborted) return
    quietS = 0
    largestBytes = Math.max(largestBytes, Buffer.byteLength(frames))
    if (send === null) send = open(reply, frames)
    else send(frames)
    if (response.writableLength > limits.queuedBytes + largestBytes) {
      onSlowReader()
      hangUp.abort()
      response.destroy()
    }
  }

  return {
    signal: hangUp.signal,
    get opened() {
      return send !== null
    },
    write,
    end(frames) {
      if (ended || hangUp.signal.aborted) return
      const { socket } = response
      socket?.cork()
      write(frames)
      ended = true
      if (!hangUp.signal.aborted) response.end()
      socket?.uncork()
    },
    detach() {
      if (send === null) watched.delete(stream)
    },
  }
}

/** Sends the headers and the first frames in one write, and returns the writer of what follows. */
function open(reply: FastifyReply, frames: string): (frames: string) => void {
  const response = reply.raw
  const { socket } = response
  reply.hijack()
  socket?.cork()
  response.writeHead(200, HEADERS)
  response.flushHeaders()
  const send = chooseWriter(response)
  send(frames)
  socket?.uncork()
  return send
}

/**
 * Writes the chunks of the chunked transfer coding (RFC 9112, section 7.1) to the socket itself: one string and
 * one system call for each write, about half the cost of `response.write`. It relies on three facts of Node's
 * `ServerResponse`, held by the conformance test: flushed headers are already handed to the socket, `end()`
 * sends the last chunk, and nothing else writes to the socket before that.
 *
 * HTTP/1.0 has no chunks, a pipelined response has no socket yet, and other sockets are not ours to know:
 * there `response.write` does it.
 */
function chooseWriter(response: ServerResponse): (frames: string) => void {
  const { socket } = response
  if (!response.chunkedEncoding || !(socket instanceof Socket) || socket instanceof TLSSocket) {
    return (frames) => void response.write(frames)
  }
  return (frames) => {
    const bytes = Buffer.byteLength(frames)
    const encoding = bytes === frames.length ? 'latin1' : 'utf8'
    socket.write(`${bytes.toString(16)}\r\n${frames}\r\n`, encoding)
  }
}
