import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2'
import { status } from '@grpc/grpc-js'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createHttp2Transport } from '#apps/worker/engine/transport/http2-transport.ts'
import { framed, startRawServer, startTcpServer } from './raw-server.ts'
import { TRANSPORTS } from '#test/support/engine-transports.ts'
import { freePort } from '#test/support/free-port.ts'
import {
  answered,
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
} from './transport-under-test.ts'

afterEach(closeAll)

describe.each(Object.entries(TRANSPORTS))('the connection of %s', (_, create) => {
  it('is one for all calls, and a new one after it was lost', async () => {
    const { address, sessions } = await serve(fine)
    const transport = open(create, address)
    const calls = Array.from({ length: 20 }, () => listen(transport).ended)
    for (const ending of await Promise.all(calls)) expect(ending).toMatchObject(answered)
    expect(sessions).toHaveLength(1)
    await lose(sessions[0])
    await expect.poll(async () => await listen(transport).ended).toMatchObject(answered)
    expect(sessions).toHaveLength(2)
  })

  it('ends its calls UNAVAILABLE when it is lost', async () => {
    const { address } = await serve((stream, { session }) => {
      stream.respond(HEADERS)
      stream.write(framed(Buffer.from('a')), () => setImmediate(() => session.destroy()))
    })
    expect(await listen(open(create, address)).ended).toMatchObject({ code: 'UNAVAILABLE', messages: ['a'] })
  })

  it('lets calls end that a GOAWAY includes, and takes a new connection for others', async () => {
    const streams: ServerHttp2Stream[] = []
    const { address, sessions } = await serve((stream, call) => {
      if (sessions.length > 1) return fine(stream, call)
      streams.push(stream)
      stream.respond(HEADERS, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.write(framed(Buffer.from('a')))
    })
    const transport = open(create, address)
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const first = listen(transport, { onMessage: () => begin() })
    await begun
    const [session] = sessions
    session?.goaway(constants.NGHTTP2_NO_ERROR)
    await expect.poll(async () => await listen(transport).ended).toMatchObject(answered)
    streams[0]?.end(framed(Buffer.from('b')))
    expect(await first.ended).toMatchObject({ code: 'OK', messages: ['a', 'b'] })
    expect(sessions).toHaveLength(2)
  })

  it('is not there: UNAVAILABLE, and within a second and a half of its coming up it is', async () => {
    const port = await freePort()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const transport = open(create, `127.0.0.1:${port}`)
    expect(await listen(transport).ended).toMatchObject({ code: 'UNAVAILABLE' })
    const server = await startRawServer(fine, port)
    closers.push(server.stop)
    let ending = await listen(transport).ended
    for (let upMs = 0; upMs < 1_500 && ending.code !== 'OK'; upMs += 20) {
      vi.advanceTimersByTime(20)
      ending = await listen(transport).ended
    }
    expect(ending).toMatchObject(answered)
  })

  it('to something that speaks no HTTP/2 is UNAVAILABLE', async () => {
    const { address, stop } = await startTcpServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    closers.push(stop)
    expect(await listen(open(create, address)).ended).toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('closed takes no more calls, and those that run end by themselves', async () => {
    const streams: ServerHttp2Stream[] = []
    const { address } = await serve((stream) => {
      streams.push(stream)
      stream.respond(HEADERS, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.write(framed(Buffer.from('a')))
    })
    const transport = open(create, address)
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const first = listen(transport, { onMessage: () => begin() })
    await begun
    transport.close()
    streams[0]?.end(framed(Buffer.from('b')))
    expect(await first.ended).toMatchObject({ code: 'OK', messages: ['a', 'b'] })
  })
})

describe('http2 alone', () => {
  it('repeats a call that lies above the last id of a GOAWAY: the server has not processed it', async () => {
    const { address, calls, sessions } = await serve((stream, call) => {
      if (sessions.length > 1) return fine(stream, call)
      if (calls.length === 1) {
        stream.respond(HEADERS)
        stream.write(framed(Buffer.from('a')))
      } else {
        call.session.goaway(constants.NGHTTP2_NO_ERROR, 1)
      }
    })
    const transport = open(createHttp2Transport, address)
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const included = listen(transport, { onMessage: () => begin() })
    await begun
    expect(await listen(transport).ended).toMatchObject(answered)
    expect(sessions).toHaveLength(2)
    included.call.cancel()
  })

  it('repeats a refused call once, then it is UNAVAILABLE', async () => {
    const { address, calls } = await serve((stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM))
    expect(await listen(open(createHttp2Transport, address)).ended).toMatchObject({
      code: 'UNAVAILABLE',
      messages: [],
    })
    expect(calls).toHaveLength(2)
  })

  it('delivers all messages before a failure, also when it was paused', async () => {
    const { address } = await serve(
      answerWith(
        Array.from({ length: 50 }, (_, i) => framed(Buffer.from(String(i)))),
        { 'grpc-status': '13' },
      ),
    )
    const transport = open(createHttp2Transport, address)
    const { call, ended, messages } = listen(transport, {
      onMessage: (count, running) => {
        if (count === 3) running.pause()
      },
    })
    // The call is paused at the third message.
    await expect.poll(() => messages.length).toBeGreaterThanOrEqual(3)
    await settled(() => messages.length)
    call.resume()
    expect(await ended).toMatchObject({
      code: 'INTERNAL',
      messages: Array.from({ length: 50 }, (_, i) => String(i)),
    })
  })

  it('delivers everything that came before the trailers, also when the connection is lost after them', async () => {
    const { address, sessions } = await serve(
      answerWith(
        Array.from({ length: 5 }, () => framed(Buffer.alloc(10_000))),
        { 'grpc-status': '0' },
      ),
    )
    const { call, ended } = listen(open(createHttp2Transport, address), {
      onMessage: (count, running) => {
        if (count === 1) running.pause()
      },
    })
    // The answer comes on the same connection, so after the trailers.
    await expect.poll(() => sessions).not.toHaveLength(0)
    const [session] = sessions
    const { promise: trailersSent, resolve: sent } = Promise.withResolvers<void>()
    session?.ping(() => sent())
    await trailersSent
    await lose(session)
    call.resume()
    expect(await ended).toMatchObject({ code: 'OK', messages: { length: 5 } })
  })

  it('refuses calls after it was closed', async () => {
    const { address, calls } = await serve(() => {})
    const transport = open(createHttp2Transport, address)
    transport.close()
    expect(await listen(transport).ended).toMatchObject({ code: 'UNAVAILABLE' })
    expect(calls).toEqual([])
  })

  it('fails the calls that wait for a connection when it is closed', async () => {
    const { promise: connected, resolve: connect } = Promise.withResolvers<void>()
    const { address, stop } = await startTcpServer(() => connect())
    closers.push(stop)
    const transport = open(createHttp2Transport, address)
    const { ended } = listen(transport)
    await connected
    transport.close()
    expect(await ended).toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('gives up a server that accepts connections and says nothing', async () => {
    const { address, stop } = await startTcpServer(() => {})
    closers.push(stop)
    const ending = await listen(open(createHttp2Transport, address)).ended
    expect(ending).toMatchObject({
      code: 'UNAVAILABLE',
      details: expect.stringContaining('no answer within'),
    })
  })

  it('pauses between attempts, longer each time, and fails calls at once meanwhile', async () => {
    let attempts = 0
    const { address, stop } = await startTcpServer((socket) => {
      attempts += 1
      socket.destroy()
    })
    closers.push(stop)
    const transport = open(createHttp2Transport, address)
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const attemptsAtMs: number[] = []
    for (let seen = 0; attemptsAtMs.length < 5;) {
      expect(await listen(transport).ended).toMatchObject({ code: 'UNAVAILABLE' })
      if (attempts > seen) attemptsAtMs.push(performance.now())
      seen = attempts
      vi.advanceTimersByTime(10)
    }
    const pauses = attemptsAtMs.slice(1).map((at, i) => at - (attemptsAtMs[i] ?? 0))
    expect(pauses).toEqual([200, 400, 800, 1_000])
  })

  it('ends a call whose request cannot be written', async () => {
    const { address, calls } = await serve(() => {})
    const transport = open(createHttp2Transport, address)
    const broken = {
      ...METHOD,
      requestSerialize(): Buffer {
        throw new Error('not a message')
      },
    }
    await expect(transport.unary(broken, REQUEST, { timeoutMs: 1_000 })).rejects.toMatchObject({
      code: status.INTERNAL,
      details: 'not a message',
    })
    expect(calls).toEqual([])
  })

  it.each([
    ['no message', [], 'UNIMPLEMENTED'],
    ['two messages', [framed(Buffer.from('a')), framed(Buffer.from('b'))], 'UNIMPLEMENTED'],
    ['a compressed message', [Buffer.of(1, 0, 0, 0, 1, 9)], 'INTERNAL'],
    ['a message that is cut short', [Buffer.of(0, 0, 0, 0, 9, 1)], 'INTERNAL'],
  ])('takes %s for no answer', async (_, pieces, code) => {
    const { address } = await serve(answerWith(pieces, { 'grpc-status': '0' }))
    expect(await ask(open(createHttp2Transport, address))).toMatchObject({ code })
  })
})

async function lose(session: Http2Session | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  session?.on('close', resolve)
  session?.destroy()
  await promise
}
