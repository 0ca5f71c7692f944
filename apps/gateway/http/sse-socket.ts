import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { FastifyReply } from 'fastify'
import { ShortLivedSet } from '#libs/short-lived/short-lived-set.ts'
import { abortOnHangUp } from './abort-on-hang-up.ts'

/**
 * The one writer of server-sent events. A stream is `waiting` (no byte sent; the route may still answer with another
 * status), then `open` (headers sent), then `ended`. From each of these states it can become `gone`: the client closed
 * the connection, or read so slowly that this writer closed it.
 *
 *     waiting → open:   the first event is written; or `open()` sends a comment; or no event came for `headersAfterS`,
 *                       and a keep-alive is sent
 *     open    → ended:  end()
 *     waiting → ended:  detach(): the route answers in another way
 */
type SseSocket = {
  /** Aborted when the stream is gone. */
  readonly signal: AbortSignal
  /** True if the headers are sent, so that only an event can report a failure. */
  opened(): boolean
  /**
   * Sends the headers now, followed by the text that `comment` returns. From now on, `comment` also returns the text of
   * each keep-alive. If `comment` returns null, the usual keep-alive is sent.
   */
  open(comment: () => string | null): void
  /** Sends whole events, as one write to the socket. Does nothing once the stream is gone. */
  write(events: string): void
  /** Sends the last events and completes the response. */
  end(events: string): void
  /** Stops watching a stream that never opened; does nothing for an open stream. */
  detach(): void
}

export type SseLimits = {
  /** The headers are sent after this long without an event, with a keep-alive. */
  readonly headersAfterS: number
  /** A keep-alive is sent after this long without an event. */
  readonly keepAliveS: number
  /**
   * A client is cut off when the bytes that wait for it exceed the sum of this limit and the largest single write of
   * its stream. The largest write is added, because the end of a long response repeats the whole output at once, and no
   * client can have read this repetition yet.
   */
  readonly queuedBytes: number
  /** How long a client may take to read the rest of an ended stream. */
  readonly lastReadS: number
}

export type SseSockets = {
  /** `keepAlive` is sent after a time without an event; by default a comment. */
  attach(reply: FastifyReply, keepAlive?: string): SseSocket
  /** Stops the ticker; streams end with their routes. */
  close(): void
}

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // Without this header, proxies of the nginx family buffer the events.
  'x-accel-buffering': 'no',
}

/** A comment is the only keep-alive that the clients of every interface ignore. */
const KEEP_ALIVE = ': keep-alive\n\n'

/**
 * Creates the sockets. All streams share one ticker, because a timer for each would cost more than most events.
 * `everySecond` starts the ticker and returns the function that stops it; `onSlowReader` is called for each client that
 * is cut off.
 */
export function createSseSockets(options: {
  limits: SseLimits
  everySecond: (run: () => void) => () => void
  onSlowReader: () => void
}): SseSockets {
  const ticking = new ShortLivedSet<Stream>()
  const stopTicker = options.everySecond(() => {
    for (const stream of ticking) stream.onSecond()
  })
  const shared: Shared = { ...options, ticking }
  return {
    attach: (reply, keepAlive = KEEP_ALIVE) => new Stream(reply, keepAlive, shared),
    close: stopTicker,
  }
}

type Shared = {
  readonly limits: SseLimits
  readonly onSlowReader: () => void
  readonly ticking: ShortLivedSet<Stream>
}

/**
 * A gateway has one object of this class for each open stream. All objects share the methods of the class; closures for
 * each object would take several times as much memory.
 */
class Stream implements SseSocket {
  readonly signal: AbortSignal
  readonly #reply: FastifyReply
  readonly #keepAlive: string
  readonly #shared: Shared
  /** The number of this stream in `ticking`. */
  readonly #number: number
  readonly #hangUp: AbortController
  #send: ((events: string) => void) | null = null
  #ended = false
  #comment: (() => string | null) | null = null
  #quietS = 0
  #largestBytes = 0

  constructor(reply: FastifyReply, keepAlive: string, shared: Shared) {
    this.#reply = reply
    this.#keepAlive = keepAlive
    this.#shared = shared
    this.#number = shared.ticking.add(this)
    this.#hangUp = abortOnHangUp(reply.raw, () => shared.ticking.delete(this.#number))
    this.signal = this.#hangUp.signal
  }

  opened() {
    return this.#send !== null
  }

  open(comment: () => string | null) {
    this.#comment = comment
    this.write(this.#quietText())
  }

  write(events: string) {
    const { signal } = this
    if (this.#ended || events === '' || signal.aborted) return
    const response = this.#reply.raw
    this.#quietS = 0
    this.#largestBytes = Math.max(this.#largestBytes, Buffer.byteLength(events))
    if (this.#send === null) this.#send = open(this.#reply, events)
    else this.#send(events)
    if (response.writableLength > this.#shared.limits.queuedBytes + this.#largestBytes) {
      this.#shared.onSlowReader()
      this.#hangUp.abort()
      response.destroy()
    }
  }

  end(events: string) {
    if (this.#ended || this.signal.aborted) return
    const response = this.#reply.raw
    const { socket } = response
    socket?.cork()
    this.write(events)
    this.#ended = true
    if (!this.signal.aborted) response.end()
    socket?.uncork()
  }

  detach() {
    if (this.#send === null) this.#shared.ticking.delete(this.#number)
  }

  onSecond() {
    const { limits } = this.#shared
    this.#quietS += 1
    if (this.#ended) {
      if (this.#quietS > limits.lastReadS) this.#reply.raw.destroy()
    } else if (this.#quietS >= (this.#send === null ? limits.headersAfterS : limits.keepAliveS)) {
      this.write(this.#quietText())
    }
  }

  #quietText(): string {
    return this.#comment?.() ?? this.#keepAlive
  }
}

/** Sends the headers and the first events in one write, and returns the function that writes further events. */
function open(reply: FastifyReply, events: string): (events: string) => void {
  const response = reply.raw
  const { socket } = response
  reply.hijack()
  socket?.cork()
  // A hijacked response would lose the headers that hooks have set on the reply.
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) response.setHeader(name, value)
  }
  response.writeHead(200, HEADERS)
  response.flushHeaders()
  const send = chooseWriter(response)
  send(events)
  socket?.uncork()
  return send
}

/**
 * Writes the chunks of the chunked transfer coding (RFC 9112, section 7.1) directly to the socket: one string and one
 * system call for each write, at about half the cost of `response.write`. This relies on three properties of Node's
 * `ServerResponse`, which the conformance test checks: flushed headers have been passed to the socket, `end()` sends
 * the last chunk, and nothing else writes to the socket before `end()`.
 *
 * HTTP/1.0 has no chunks, a pipelined response has no socket yet, and other kinds of sockets may behave differently.
 * Such responses are written with `response.write`.
 */
function chooseWriter(response: ServerResponse): (events: string) => void {
  const { socket } = response
  if (!response.chunkedEncoding || !(socket instanceof Socket) || socket instanceof TLSSocket) {
    return (events) => void response.write(events)
  }
  return (events) => {
    const bytes = Buffer.byteLength(events)
    const encoding = bytes === events.length ? 'latin1' : 'utf8'
    socket.write(`${bytes.toString(16)}\r\n${events}\r\n`, encoding)
  }
}
