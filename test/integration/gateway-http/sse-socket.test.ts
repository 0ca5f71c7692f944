import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { text as readAll } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import type { OutputEvent } from '#apps/gateway/generation/request/generation-call.ts'
import { always, AUTHORIZED, createFedCore, END, KEY, serveApp, STREAM, text } from './gateway-app.ts'

const TEXTS = ['plain', 'ä€', '𝄞 \ud83d', 'z\u2028\r\n"\\', 'y'.repeat(70_000), 'ß'.repeat(40_000)]
const BATCHES: OutputEvent[][] = [...TEXTS.map((value) => [text(value)]), [END]]

const body = JSON.stringify(STREAM)
const rawRequest = (version: string, ...headers: string[]) =>
  [
    `POST /v1/chat/completions HTTP/${version}`,
    'host: x',
    `authorization: Bearer ${KEY}`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...headers,
    '',
    body,
  ].join('\r\n')

/** Sends requests on one connection. Returns everything that the server sends until it closes the connection. */
async function converse(port: number, ...requests: string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(requests.join(''))
  return readAll(socket)
}

const bodyOf = (answer: string) => answer.slice(answer.indexOf('\r\n\r\n') + 4)

/** Decodes the chunked transfer coding by its grammar, byte by byte. */
function fromChunks(coded: string): { body: string; sizes: number[] } {
  const bytes = Buffer.from(coded)
  const sizes: number[] = []
  let content = ''
  let at = 0
  for (let size = -1; size !== 0;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    const line = bytes.toString('latin1', at, lineEnd)
    expect(line).toMatch(/^[0-9a-f]+$/)
    size = Number.parseInt(line, 16)
    const end = lineEnd + 2 + size
    expect(bytes.toString('latin1', end, end + 2)).toBe('\r\n')
    sizes.push(size)
    content += bytes.toString('utf8', lineEnd + 2, end)
    at = end + 2
  }
  expect(at).toBe(bytes.length)
  return { body: content, sizes: sizes.slice(0, -1) }
}

/** Ids and times differ between requests. */
const anonymous = (events: string) =>
  events.replaceAll(/chatcmpl-[0-9a-f-]{36}/g, 'chatcmpl-x').replaceAll(/"created":\d+/g, '"created":0')

function contentOf(events: string): string {
  return events
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice(6)).choices[0].delta.content ?? '')
    .join('')
}

async function post(port: number, agent?: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      port,
      method: 'POST',
      path: '/v1/chat/completions',
      headers: AUTHORIZED,
      ...(agent === undefined ? {} : { agent }),
    })
    request.once('error', reject).once('response', resolve).end(body)
  })
}

describe('the stream writer', () => {
  it('writes valid chunks, one for each batch', async () => {
    const { port } = await serveApp(always(...BATCHES))
    const answer = await converse(port, rawRequest('1.1', 'connection: close'))
    expect(answer).toMatch(/\r\ntransfer-encoding: chunked\r\n/i)
    const { body: events, sizes } = fromChunks(bodyOf(answer))
    expect(sizes).toHaveLength(BATCHES.length)
    expect(contentOf(events)).toBe(TEXTS.join(''))
  })

  it('sends the same bytes as response.write, which serves HTTP/1.0', async () => {
    const { port } = await serveApp(always(...BATCHES))
    const old = await converse(port, rawRequest('1.0'))
    expect(old).not.toMatch(/\r\ntransfer-encoding:/i)
    const chunked = await converse(port, rawRequest('1.1', 'connection: close'))
    expect(anonymous(bodyOf(old))).toBe(anonymous(fromChunks(bodyOf(chunked)).body))
  })

  it('leaves the connection usable for the next request of Node’s client', async () => {
    const { port, app } = await serveApp(always(...BATCHES))
    let connections = 0
    app.server.on('connection', () => {
      connections += 1
    })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ids = new Set<unknown>()
    for (let request = 0; request < 4; request += 1) {
      const response = await post(port, agent)
      ids.add(response.headers['x-request-id'])
      expect(contentOf(await readAll(response))).toBe(TEXTS.join(''))
    }
    agent.destroy()
    expect(connections).toBe(1)
    expect(ids.size).toBe(4)
  })

  it('answers pipelined requests whole and in order', async () => {
    const { promise: othersWritten, resolve: goOn } = Promise.withResolvers<void>()
    let calls = 0
    const { port } = await serveApp(async (_call, send) => {
      calls += 1
      const own = calls
      // The first answer is the slowest, so the others must wait until they may use the socket.
      if (own === 1) await othersWritten
      BATCHES.forEach((batch) => send(batch))
      if (own === 3) goOn()
    })
    const answer = await converse(
      port,
      rawRequest('1.1'),
      rawRequest('1.1'),
      rawRequest('1.1', 'connection: close'),
    )
    const answers = answer.split(/(?=HTTP\/1\.1 200 OK\r\n)/)
    expect(answers).toHaveLength(3)
    for (const one of answers) expect(contentOf(fromChunks(bodyOf(one)).body)).toBe(TEXTS.join(''))
  })
})

describe('a silent stream', () => {
  it('gets its headers after 10 s, with a comment, and comments after each further 15 s', async () => {
    const core = createFedCore()
    const { chat, seconds } = await serveApp(core.generate)
    const arrived = core.nextCall()
    const answered = chat(STREAM)
    await arrived
    seconds(9)
    seconds(1)
    const response = await answered
    seconds(14)
    seconds(1)
    core.feed([text('a')])
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let read = ''
    while (!read.includes('"content":"a"')) read += (await reader?.read())?.value ?? ''
    expect(read.match(/: keep-alive\n\n/g)).toHaveLength(2)
    // The interval counts from the text above.
    seconds(14)
    core.feed([END])
    for (let rest = await reader?.read(); rest?.done === false; rest = await reader?.read())
      read += rest.value
    expect(read.match(/: keep-alive\n\n/g)).toHaveLength(2)
    expect(read.endsWith('data: [DONE]\n\n')).toBe(true)
  })

  it('has no headers before that, so that a refusal still gets its status', async () => {
    const { promise: failing, resolve: fail } = Promise.withResolvers<void>()
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const { chat, seconds } = await serveApp(async () => {
      ask()
      await failing
      throw new Error('test')
    })
    const answered = chat(STREAM)
    await asked
    seconds(9)
    fail()
    expect((await answered).status).toBe(502)
  })

  it('that waits for its model has its headers at once, and comments with the expected time until a worker is there', async () => {
    const core = createFedCore()
    const { chat, seconds } = await serveApp(core.generate)
    const arrived = core.nextCall()
    const answered = chat(STREAM)
    const { onStartWait } = await arrived
    let etaMs: number | null = 31_500
    onStartWait?.({ limitS: 60, expectedMs: () => etaMs })
    const response = await answered
    expect(response.headers.get('preference-applied')).toBe('wait=60')
    etaMs = 16_500
    seconds(15)
    etaMs = null
    seconds(15)
    core.feed([END])
    const [first, second, third] = (await response.text()).split('\n\n')
    const expected = (eta: number) => `: the model is starting, a worker is expected in about ${eta} s`
    expect([first, second, third]).toEqual([expected(32), expected(17), ': keep-alive'])
  })

  it('reports a failure after that by an event', async () => {
    const { promise: failing, resolve: fail } = Promise.withResolvers<void>()
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const { chat, seconds } = await serveApp(async () => {
      ask()
      await failing
      throw new Error('test')
    })
    const answered = chat(STREAM)
    await asked
    seconds(10)
    const response = await answered
    fail()
    expect(response.status).toBe(200)
    expect(await response.text()).toMatch(/^: keep-alive\n\ndata: \{"error":.*\}\n\ndata: \[DONE\]\n\n$/)
  })

  it('stops its ticker with the app', async () => {
    const { app, tickers } = await serveApp(always([END]))
    expect(tickers.size).toBeGreaterThan(0)
    await app.close()
    expect(tickers.size).toBe(0)
  })
})

describe('a slow reader', () => {
  it('is cut off, and its generation aborted, when 1 MiB waits for it', async () => {
    const core = createFedCore()
    const { port, registry, logged } = await serveApp(core.generate)
    const arrived = core.nextCall()
    const socket = connect(port, '127.0.0.1')
    socket.pause()
    socket.write(rawRequest('1.1'))
    const { signal } = await arrived
    let fed = 0
    await expect
      .poll(
        () => {
          core.feed([text('x'.repeat(262_144))])
          fed += 1
          return signal.aborted
        },
        { interval: 1 },
      )
      .toBe(true)
    expect(fed).toBeGreaterThan(4)
    await expect.poll(() => registry.metrics()).toContain('millrace_http_slow_readers_total 1')
    expect(logged).toEqual([])
    socket.destroy()
  })

  it('is not a client that reads slowly but stays within the bound', async () => {
    const { port } = await serveApp(
      always(...Array.from({ length: 64 }, () => [text('x'.repeat(1_000))]), [END]),
    )
    const socket = connect(port, '127.0.0.1')
    socket.write(rawRequest('1.1', 'connection: close'))
    // This `readable` listener does not read: the socket fills one buffer, and the other bytes wait at the sender.
    await new Promise((resolve) => socket.once('readable', resolve))
    expect(contentOf(fromChunks(bodyOf(await readAll(socket))).body)).toHaveLength(64_000)
  })

  it('is not a client that gets more than the bound in one write', async () => {
    const { chat } = await serveApp(always([text('x'.repeat(5_000_000))], [text('y'), END]))
    expect(contentOf(await (await chat(STREAM)).text())).toHaveLength(5_000_001)
  })

  it('of an ended stream is cut off after 30 s', async () => {
    const megabytes = Array.from({ length: 24 }, () => [text('x'.repeat(1_000_000))])
    const { app, port, seconds, registry } = await serveApp(always(...megabytes, [END]), {
      queuedBytes: 100_000_000,
    })
    const responses: ServerResponse[] = []
    app.server.on('request', (_request, response) => responses.push(response))
    const socket = connect(port, '127.0.0.1')
    socket.write(rawRequest('1.1'))
    await expect.poll(() => responses[0]?.writableEnded).toBe(true)
    seconds(30)
    expect(responses[0]?.destroyed).toBe(false)
    seconds(1)
    expect(responses[0]?.destroyed).toBe(true)
    await expect.poll(() => registry.metrics()).toContain('code="client_gone"} 1')
    socket.destroy()
  })
})
