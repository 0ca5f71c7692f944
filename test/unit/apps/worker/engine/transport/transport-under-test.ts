import type { ServerHttp2Stream } from 'node:http2'
import { status } from '@grpc/grpc-js'
import { expect } from 'vitest'
import { isCallFailure } from '#apps/worker/engine/transport/call-failure.ts'
import type { StreamCall, Transport } from '#apps/worker/engine/transport/transport.ts'
import { framed, startRawServer, type Answer } from './raw-server.ts'

/** Messages as they are on the wire. */
export const METHOD = {
  path: '/test.Engine/Call',
  requestSerialize: (request: Buffer) => request,
  responseDeserialize: (bytes: Buffer) => Buffer.from(bytes),
}
export const HEADERS = { ':status': 200, 'content-type': 'application/grpc' }
export const REQUEST = Buffer.from('request')

/** The resources that the current test has opened. Each importing file closes them: `afterEach(closeAll)`. */
export const closers: (() => unknown)[] = []
export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close()
}

export async function serve(answer: Answer) {
  const server = await startRawServer(answer)
  closers.push(server.stop)
  return server
}

export function open(create: (options: { address: string }) => Transport, address: string): Transport {
  const transport = create({ address })
  closers.push(transport.close)
  return transport
}

export type Ending = { readonly messages: string[]; readonly code: string; readonly details: string }

type Listening = { readonly call: StreamCall; readonly ended: Promise<Ending>; readonly messages: string[] }

export function listen(
  transport: Transport,
  options: { onMessage?: (count: number, call: StreamCall) => void; timeoutMs?: number } = {},
): Listening {
  const { promise: ended, resolve } = Promise.withResolvers<Ending>()
  const messages: string[] = []
  const call: StreamCall = transport.serverStream(METHOD, REQUEST, {
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    onMessage(message) {
      messages.push(message.toString('latin1'))
      options.onMessage?.(messages.length, call)
    },
    onEnd: (failure) =>
      resolve({
        messages: [...messages],
        code: failure === null ? 'OK' : (status[failure.code] ?? String(failure.code)),
        details: failure?.details ?? '',
      }),
  })
  return { call, ended, messages }
}

export async function ask(transport: Transport, options: { timeoutMs?: number; signal?: AbortSignal } = {}) {
  try {
    const answer = await transport.unary(METHOD, REQUEST, { timeoutMs: 5_000, ...options })
    return { code: 'OK', details: '', answer: answer.toString('latin1') }
  } catch (error) {
    if (!isCallFailure(error)) throw error
    return { code: status[error.code] ?? String(error.code), details: error.details, answer: null }
  }
}

/** Answers with headers, then the pieces, each in a separate iteration of the event loop, then the trailers. */
export function answerWith(pieces: readonly Buffer[], trailers: Readonly<Record<string, string>>): Answer {
  return (stream) => {
    stream.respond(HEADERS, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers(trailers))
    writeAll(stream, pieces)
  }
}

function writeAll(stream: ServerHttp2Stream, pieces: readonly Buffer[]): void {
  const [piece, ...rest] = pieces
  if (piece === undefined) stream.end()
  else stream.write(piece, () => setImmediate(() => writeAll(stream, rest)))
}

/** Answers with one message and a successful end. */
export const fine = answerWith([framed(Buffer.from('answer'))], { 'grpc-status': '0' })
export const answered = { code: 'OK', messages: ['answer'] }

/** Resolves when the figure has not moved for 100 ms. */
export async function settled(figure: () => number): Promise<void> {
  let before = Number.NaN
  const hasMoved = () => {
    const now = figure()
    const moved = now !== before
    before = now
    return moved
  }
  await expect.poll(hasMoved, { interval: 100 }).toBe(false)
}
