import { constants } from 'node:http2'
import { status } from '@grpc/grpc-js'
import * as fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { MAX_MESSAGE_BYTES } from '#apps/worker/engine/transport/transport.ts'
import { runs } from '#test/support/long.ts'
import { framed, split, startTcpServer, type Answer } from './raw-server.ts'
import { TRANSPORTS } from '#test/support/engine-transports.ts'
import {
  answerWith,
  ask,
  closeAll,
  closers,
  fine,
  HEADERS,
  listen,
  METHOD,
  open,
  REQUEST,
  serve,
  settled,
  type Ending,
} from './transport-under-test.ts'

afterEach(closeAll)

/** Returns how the same answer ends on both transports. */
async function endingsOfBoth(answer: Answer): Promise<Record<string, Ending>> {
  const { address } = await serve(answer)
  const endings: Record<string, Ending> = {}
  for (const [name, create] of Object.entries(TRANSPORTS)) {
    const transport = create({ address })
    endings[name] = await listen(transport).ended
    transport.close()
  }
  return endings
}

const encoded = (text: string) =>
  Array.from(Buffer.from(text), (byte) =>
    byte < 0x20 || byte > 0x7e || byte === 0x25
      ? `%${byte.toString(16).padStart(2, '0')}`
      : String.fromCharCode(byte),
  ).join('')

describe('beside grpc-js', () => {
  it('delivers the same messages in the same order and the same end, however the bytes are cut', async () => {
    const script = { pieces: new Array<Buffer>(), trailers: {} }
    const { address } = await serve((stream, call) => {
      answerWith(script.pieces, script.trailers)(stream, call)
    })
    const transports = Object.values(TRANSPORTS).map((create) => open(create, address))
    const message = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.uint8Array({ minLength: 20_000, maxLength: 80_000 }),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { maxLength: 12 }),
        fc.array(fc.nat(400_000), { maxLength: 30 }),
        fc.record({
          code: fc.integer({ min: 0, max: 16 }),
          // HTTP strips spaces at the ends.
          details: fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => `(${text})`),
        }),
        async (messages, cuts, { code, details }) => {
          script.pieces = split(Buffer.concat(messages.map(framed)), cuts)
          script.trailers = { 'grpc-status': String(code), 'grpc-message': encoded(details) }
          const expected = {
            messages: messages.map((bytes) => Buffer.from(bytes).toString('latin1')),
            code: status[code],
            // A successful end has no details.
            details: code === 0 ? '' : details,
          }
          const endings = await Promise.all(transports.map(async (each) => await listen(each).ended))
          expect(endings).toEqual([expected, expected])
        },
      ),
      { numRuns: runs(25, 150) },
    )
  })

  const end = (trailers: Readonly<Record<string, string>>) => answerWith([framed(Buffer.from('m'))], trailers)
  const only =
    (headers: Readonly<Record<string, string | number>>): Answer =>
    (stream) =>
      stream.respond({ ...HEADERS, ...headers }, { endStream: true })
  const http =
    (code: number): Answer =>
    (stream) => {
      stream.respond({ ':status': code, 'content-type': 'text/html' })
      stream.end('<html>')
    }
  // Trailers are still missing at the reset, or Node would end the stream successfully before it resets it.
  const reset =
    (code: number): Answer =>
    (stream) => {
      stream.respond(HEADERS, { waitForTrailers: true })
      stream.on('wantTrailers', () => {})
      stream.write(framed(Buffer.from('m')), () => setImmediate(() => stream.close(code)))
    }

  it.each<[string, Answer, string]>([
    ['trailers with OK', end({ 'grpc-status': '0' }), 'OK'],
    [
      'trailers with a failure',
      end({ 'grpc-status': '13', 'grpc-message': 'EngineCore%20died' }),
      'INTERNAL',
    ],
    ['trailers alone', only({ 'grpc-status': '3', 'grpc-message': 'Token id 2048' }), 'INVALID_ARGUMENT'],
    ['trailers alone, OK', only({ 'grpc-status': '0' }), 'OK'],
    ['trailers without a status', end({ 'x-other': '1' }), 'UNKNOWN'],
    ['trailers alone, without a status', only({ 'x-other': '1' }), 'UNKNOWN'],
    ['an end without trailers', (stream) => (stream.respond(HEADERS), stream.end()), 'INTERNAL'],
    [
      'a message that is cut short by a failure',
      answerWith([Buffer.of(0, 0, 0, 0, 9, 1)], { 'grpc-status': '14' }),
      'UNAVAILABLE',
    ],
    ['HTTP 404', http(404), 'UNIMPLEMENTED'],
    ['HTTP 429', http(429), 'UNAVAILABLE'],
    ['HTTP 500', http(500), 'UNKNOWN'],
    ['HTTP 503', http(503), 'UNAVAILABLE'],
    [
      'HTTP 503 without a body',
      (stream) => stream.respond({ ':status': 503 }, { endStream: true }),
      'UNAVAILABLE',
    ],
    ['a reset with CANCEL', reset(constants.NGHTTP2_CANCEL), 'CANCELLED'],
    ['a reset with INTERNAL_ERROR', reset(constants.NGHTTP2_INTERNAL_ERROR), 'INTERNAL'],
    ['a reset with PROTOCOL_ERROR', reset(constants.NGHTTP2_PROTOCOL_ERROR), 'INTERNAL'],
    ['a reset with ENHANCE_YOUR_CALM', reset(constants.NGHTTP2_ENHANCE_YOUR_CALM), 'RESOURCE_EXHAUSTED'],
    ['a reset with INADEQUATE_SECURITY', reset(constants.NGHTTP2_INADEQUATE_SECURITY), 'PERMISSION_DENIED'],
    ['a lost connection', (_, { session }) => session.destroy(), 'UNAVAILABLE'],
    ['a message over the limit', answerWith([oversized()], { 'grpc-status': '0' }), 'RESOURCE_EXHAUSTED'],
  ])('ends as it does after %s', async (_, answer, code) => {
    const endings = await endingsOfBoth(answer)
    expect(endings['http2']?.messages).toEqual(endings['grpc-js']?.messages)
    expect({ reference: endings['grpc-js']?.code, own: endings['http2']?.code }).toEqual({
      reference: code,
      own: code,
    })
  })
})

describe.each(Object.entries(TRANSPORTS))('%s', (_, create) => {
  const silent: Answer = (stream) => stream.respond(HEADERS)

  it('sends what gRPC over HTTP/2 asks for, and the whole request', async () => {
    const { address, calls } = await serve(fine)
    expect(await ask(open(create, address), { timeoutMs: 60_000 })).toEqual({
      code: 'OK',
      details: '',
      answer: 'answer',
    })
    expect(calls[0]?.headers).toMatchObject({
      ':method': 'POST',
      ':scheme': 'http',
      ':path': METHOD.path,
      ':authority': address,
      te: 'trailers',
      'content-type': expect.stringMatching(/^application\/grpc/),
    })
    expect(toMs(String(calls[0]?.headers['grpc-timeout']))).toBeGreaterThan(50_000)
    expect(toMs(String(calls[0]?.headers['grpc-timeout']))).toBeLessThanOrEqual(60_000)
    expect(await calls[0]?.request).toEqual(framed(REQUEST))
  })

  it('sends the deadline to the server, keeps it, and resets the stream then', async () => {
    const { address, calls } = await serve(silent)
    const transport = open(create, address)
    expect(await ask(transport, { timeoutMs: 1_000 })).toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    expect(await listen(transport, { timeoutMs: 1_000 }).ended).toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    for (const { headers, closed } of calls) {
      expect(toMs(String(headers['grpc-timeout']))).toBeLessThanOrEqual(1_000)
      expect(await closed).toBe(constants.NGHTTP2_CANCEL)
    }
    expect(calls).toHaveLength(2)
  })

  it('cancels a stream with RST_STREAM CANCEL, and delivers nothing after it', async () => {
    const { address, calls } = await serve((stream) => {
      stream.respond(HEADERS)
      stream.write(Buffer.concat(['a', 'b', 'c'].map((text) => framed(Buffer.from(text)))))
    })
    const { ended, messages } = listen(open(create, address), {
      onMessage: (count, call) => {
        if (count === 2) call.cancel()
      },
    })
    expect(await ended).toMatchObject({ code: 'CANCELLED', messages: ['a', 'b'] })
    expect(await calls[0]?.closed).toBe(constants.NGHTTP2_CANCEL)
    expect(messages).toEqual(['a', 'b'])
  })

  it('cancels a unary call by its signal', async () => {
    const leaving = new AbortController()
    const { address, calls } = await serve(() => leaving.abort())
    expect(await ask(open(create, address), { signal: leaving.signal })).toMatchObject({ code: 'CANCELLED' })
    expect(await calls[0]?.closed).toBe(constants.NGHTTP2_CANCEL)
  })

  it('cancels a call that still waits for the connection', async () => {
    const { address, stop } = await startTcpServer(() => {})
    closers.push(stop)
    const { call, ended } = listen(open(create, address))
    call.cancel()
    expect(await ended).toMatchObject({ code: 'CANCELLED' })
  })

  it('stops the server while it is paused, and then delivers everything', async () => {
    const message = framed(Buffer.alloc(10_000, 120))
    let accepted = 0
    const { address } = await serve((stream) => {
      stream.respond(HEADERS, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      const write = () => {
        while (accepted < 500) {
          accepted += 1
          if (!stream.write(message)) {
            stream.once('drain', write)
            return
          }
        }
        stream.end()
      }
      write()
    })
    const { call, ended, messages } = listen(open(create, address), {
      onMessage: (count, running) => {
        if (count === 1) running.pause()
      },
    })
    // Nothing is paused before the first message.
    await expect.poll(() => messages.length).toBeGreaterThan(0)
    await settled(() => accepted)
    expect(accepted).toBeLessThan(100)
    expect(messages.length).toBeLessThan(50)
    call.resume()
    expect((await ended).messages).toHaveLength(500)
  })

  it('does not hold other streams back while one is paused', async () => {
    const { address } = await serve(
      answerWith(
        Array.from({ length: 40 }, () => framed(Buffer.alloc(10_000))),
        { 'grpc-status': '0' },
      ),
    )
    const transport = open(create, address)
    const paused = Array.from({ length: 20 }, () => listen(transport))
    for (const { call } of paused) call.pause()
    expect((await listen(transport).ended).messages).toHaveLength(40)
    for (const { call } of paused) call.resume()
    for (const { ended } of paused) expect((await ended).messages).toHaveLength(40)
  })
})

function oversized(): Buffer {
  const prefix = Buffer.alloc(6)
  prefix.writeUInt32BE(MAX_MESSAGE_BYTES + 1, 1)
  return prefix
}

/** Converts a deadline from its wire form, a number and a unit, to ms. */
function toMs(timeout: string): number {
  const unit = { n: 1e-6, u: 1e-3, m: 1, S: 1e3, M: 6e4, H: 3.6e6 }[timeout.slice(-1)]
  return Number(timeout.slice(0, -1)) * (unit ?? Number.NaN)
}
