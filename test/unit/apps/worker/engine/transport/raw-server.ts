import {
  createServer,
  type Http2Server,
  type Http2Session,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** A server's handling of a call on the level of HTTP/2, so that it can send what no gRPC library would send. */
export type Answer = (stream: ServerHttp2Stream, call: SeenCall) => void

export type SeenCall = {
  readonly headers: Readonly<Record<string, unknown>>
  /** The framed request, when all of it has arrived. */
  readonly request: Promise<Buffer>
  /** Resolves, when the stream is closed, with the code of the client's reset; 0 without a reset. */
  readonly closed: Promise<number>
  readonly session: Http2Session
}

export type RawServer = {
  readonly address: string
  readonly calls: SeenCall[]
  readonly sessions: readonly Http2Session[]
  readonly stop: () => Promise<void>
}

/** Starts a plaintext HTTP/2 server on `port`; 0 lets the kernel choose a port. */
export async function startRawServer(answer: Answer, port = 0): Promise<RawServer> {
  const calls: SeenCall[] = []
  const sessions: ServerHttp2Session[] = []
  const server: Http2Server = createServer()
  server.on('session', (session) => {
    sessions.push(session)
    session.on('error', () => {})
  })
  server.on('stream', (stream, headers) => {
    const pieces: Buffer[] = []
    const { promise: request, resolve: received } = Promise.withResolvers<Buffer>()
    const { promise: closed, resolve: close } = Promise.withResolvers<number>()
    stream.on('data', (piece: Buffer) => pieces.push(piece))
    stream.on('end', () => received(Buffer.concat(pieces)))
    stream.on('error', () => {})
    stream.on('close', () => close(stream.rstCode ?? 0))
    const session = stream.session
    if (session === undefined) throw new Error('a stream without a session')
    const call = { headers, request, closed, session }
    calls.push(call)
    answer(stream, call)
  })
  await listen(server, port)
  return {
    address: addressOf(server),
    calls,
    sessions,
    async stop() {
      const { promise, resolve } = Promise.withResolvers<void>()
      server.close(() => resolve())
      for (const session of sessions) session.destroy()
      await promise
    },
  }
}

/** Starts a TCP server that passes each connection to `onSocket`. */
export async function startTcpServer(onSocket: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    onSocket(socket)
  })
  await listen(server, 0)
  return {
    address: addressOf(server),
    async stop() {
      const { promise, resolve } = Promise.withResolvers<void>()
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
      await promise
    },
  }
}

async function listen(server: Http2Server | Server, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.on('error', reject)
  server.listen(port, '127.0.0.1', () => resolve())
  await promise
}

function addressOf(server: Http2Server | Server): string {
  const address: AddressInfo | string | null = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no address')
  return `127.0.0.1:${address.port}`
}

/** Returns a message with its gRPC prefix. */
export function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

/** Splits `bytes` into pieces that end at `cuts`. */
export function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...new Set([...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort(
    (a, b) => a - b,
  )
  return ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end)).filter((piece) => piece.length > 0)
}
