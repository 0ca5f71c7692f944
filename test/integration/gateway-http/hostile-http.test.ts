import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { text as readAll } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { always, AUTHORIZED, CHAT, END, MODEL, serveApp, text } from './gateway-app.ts'

const core = always([text('Hi'), END])
const AUTHORIZATION = `authorization: ${AUTHORIZED.authorization}`
const BODY = JSON.stringify(CHAT)

/** Writes `raw` to a new connection and reads until the server closes it. */
async function send(port: number, ...raw: (string | Buffer)[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  for (const part of raw) socket.write(part)
  return await readAll(socket)
}

const get = (target: string, ...headers: string[]) =>
  [`GET ${target} HTTP/1.1`, 'host: x', 'connection: close', AUTHORIZATION, ...headers, '', ''].join('\r\n')

const post = (headers: string[], body: string) =>
  [
    'POST /v1/chat/completions HTTP/1.1',
    'host: x',
    'connection: close',
    AUTHORIZATION,
    ...headers,
    '',
    body,
  ].join('\r\n')

const statusesOf = (answer: string) =>
  Array.from(answer.matchAll(/HTTP\/1\.1 (\d{3}) /gu), (match) => Number(match[1]))

/**
 * Returns the statuses of an answer, whether it has a request id, and, for an error, whether it has the error object.
 */
const lookAt = (answer: string) => ({
  statuses: statusesOf(answer),
  isWhole: REQUEST_ID.test(answer) && (answer.startsWith('HTTP/1.1 200 ') || ERROR_OBJECT.test(answer)),
})

const REQUEST_ID = /\r\nx-request-id: [0-9a-f-]{36}\r\n/u
const ERROR_OBJECT = /\{"error":\{"message":"[^"]+","type":"api_error","code":"[a-z_]+"/u

describe('a header', () => {
  const length = `content-length: ${BODY.length}`
  const chunked = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`

  it.each([
    ['two different content-lengths', post([length, 'content-length: 5'], BODY), 400],
    ['the same content-length twice', post([length, length], BODY), 400],
    ['a content-length that is no number', post(['content-length: 5x'], BODY), 400],
    ['a negative content-length', post(['content-length: -1'], BODY), 400],
    ['a content-length beyond all numbers', post([`content-length: ${'9'.repeat(40)}`], BODY), 400],
    ['chunks and a content-length', post([length, 'transfer-encoding: chunked'], chunked), 400],
    ['a transfer-encoding of our invention', post(['transfer-encoding: cow'], BODY), 400],
    ['chunked twice', post(['transfer-encoding: chunked, chunked'], chunked), 400],
    ['a chunk size that is none', post(['transfer-encoding: chunked'], 'zz\r\n'), 400],
    ['more than 16 KiB', get('/v1/models', `x-large: ${'x'.repeat(17_000)}`), 431],
    ['a thousand fields', get('/v1/models', ...Array.from({ length: 1_000 }, () => 'a: b')), 431],
    ['a line folded into the next', get('/v1/models', 'x-fold: a\r\n b'), 400],
    ['a space before the colon', get('/v1/models', 'x-space : a'), 400],
    ['a NUL', get('/v1/models', 'x-nul: a\0b'), 400],
    ['no name', get('/v1/models', ': a'), 400],
    ['bytes that are no UTF-8', get('/v1/models', 'x-bytes: \u00ff'), 200],
    ['no host', get('/v1/models').replace('host: x\r\n', ''), 400],
    ['an authorization that repeats', get('/v1/models', 'authorization: Bearer other'), 200],
    ['an upgrade to something else', get('/v1/models', 'upgrade: websocket', 'connection: upgrade'), 200],
    ['an unknown expectation', post([length, 'expect: cow'], BODY), 200],
  ])('with %s is answered in order', async (...[, raw, status]) => {
    const { port } = await serveApp(core)
    expect(lookAt(await send(port, raw))).toEqual({ statuses: [status], isWhole: true })
  })

  it('may have 1,000 fields and 16 KiB; a larger one is 431 with the limits', async () => {
    const { port } = await serveApp(core)
    const fields = (count: number) => get('/v1/models', ...Array.from({ length: count }, () => 'a: b'))
    expect(lookAt(await send(port, fields(997)))).toEqual({ statuses: [200], isWhole: true })
    const refusal = 'The header must not be larger than 16 KiB or have more than 1,000 fields.'
    for (const raw of [fields(998), get('/v1/models', `x-large: ${'x'.repeat(17_000)}`)]) {
      expect(await send(port, raw)).toContain(refusal)
    }
  })

  it('without a host is refused with the name of the field', async () => {
    const { port } = await serveApp(core)
    expect(await send(port, get('/v1/models').replace('host: x\r\n', ''))).toContain(
      `"The header 'host' is required."`,
    )
  })

  it('of HTTP/1.0 is served, and the connection closed', async () => {
    const { port } = await serveApp(core)
    const raw = `GET /v1/models HTTP/1.0\r\n${AUTHORIZATION}\r\n\r\n`
    expect(statusesOf(await send(port, raw))).toEqual([200])
  })

  it('may come with others in one packet: all are answered, in order', async () => {
    const { port } = await serveApp(core)
    const kept = (raw: string) => raw.replace('connection: close\r\n', '')
    const first = kept(post([length], BODY))
    const answer = await send(port, first + kept(get('/v1/nowhere')) + get(`/v1/models/${MODEL}`))
    expect(statusesOf(answer)).toEqual([200, 404, 200])
  })
})

describe('a path or a method', () => {
  it.each([
    ['//v1/models', 404],
    ['/v1//models', 404],
    ['/v1/../v1/models', 404],
    ['/v1/%2e%2e/v1/models', 404],
    ['/V1/MODELS', 404],
    ['/v1/models/', 200],
    ['/v1/models/%00', 404],
    ['/v1/models/..%2f..%2fetc%2fpasswd', 404],
    ['/v1/models/%ff%fe', 400],
    ['/v1/models/%', 400],
    ['/v1/%c0%aemodels', 400],
    [`/v1/models/${'x'.repeat(10_000)}`, 404],
    ['/v1/models?a=b&a[]=c&__proto__[x]=1', 200],
    ['/v1/models#fragment', 200],
    ['http://elsewhere/v1/models', 200],
    ['*', 404],
    [`/v1/models/${MODEL.replace('/', '%2F')}?x=%ff`, 200],
  ])('GET %s is answered in order', async (target, status) => {
    const { port } = await serveApp(core)
    expect(lookAt(await send(port, get(target)))).toEqual({ statuses: [status], isWhole: true })
  })

  it.each(['OPTIONS *', 'TRACE /v1/models', 'PROPFIND /v1/models', 'HEAD /v1/nowhere'])(
    '%s is no operation',
    async (line) => {
      const { port } = await serveApp(core)
      expect(statusesOf(await send(port, get('/').replace('GET /', line)))).toEqual([404])
    },
  )

  it.each(['CONNECT x:443', 'COW /v1/models', 'get /v1/models'])(
    '%s ends the connection without service',
    async (line) => {
      const { port } = await serveApp(core)
      expect(statusesOf(await send(port, get('/').replace('GET /', line)))).not.toContain(200)
    },
  )
})

/** Java's own client offers HTTP/2 in this way to every server without TLS. */
describe('a POST that offers HTTP/2', () => {
  const offer = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAEAAEAA' }

  it.each([
    ['a content-length', { 'content-length': String(BODY.length) }],
    ['chunks', { 'transfer-encoding': 'chunked' }],
  ])('is answered in HTTP/1.1, its body read: with %s', async (_name, framing) => {
    const { port } = await serveApp(core)
    const headers = { ...AUTHORIZED, ...offer, ...framing }
    const posted = request({ host: '127.0.0.1', port, method: 'POST', path: '/v1/chat/completions', headers })
    posted.on('upgrade', () => posted.destroy(new Error('the connection was upgraded')))
    posted.end(BODY)
    const [answer] = await once(posted, 'response')
    expect(answer).toMatchObject({ statusCode: 200, httpVersion: '1.1' })
    expect(JSON.parse(await readAll(answer))).toMatchObject({ choices: [{ message: { content: 'Hi' } }] })
  })
})

describe('a client that is slow on purpose', () => {
  const limits = { uploadMs: 400 }
  const answerOfSlow = async (raw: string) => {
    const { port, chat } = await serveApp(core, limits)
    const answer = await send(port, raw)
    expect((await chat(CHAT)).status).toBe(200)
    return answer
  }

  it('with its header gets 408', async () => {
    const answer = await answerOfSlow('GET /v1/models HTTP/1.1\r\nhost: x\r\nx-slow: ')
    expect(lookAt(answer)).toEqual({ statuses: [408], isWhole: true })
    expect(answer).toContain('"The request must arrive whole within 0.4 s."')
  })

  it('with its body gets 408', async () => {
    for (const header of ['content-length: 100000', 'transfer-encoding: chunked']) {
      expect(statusesOf(await answerOfSlow(post([header], '')))).toEqual([408])
    }
  })

  it('but sends a byte now and then gets 408 too', async () => {
    const { port } = await serveApp(core, limits)
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(post(['content-length: 100000'], ''))
    const timer = setInterval(() => socket.write('x'), 20)
    const answer = await readAll(socket).finally(() => clearInterval(timer))
    expect(statusesOf(answer)).toEqual([408])
  })
})
