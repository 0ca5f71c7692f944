import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { always, AUTHORIZED, CHAT, createFedCore, END, serveApp, text } from './gateway-app.ts'

const core = always([text('Hi'), END])

type Served = Awaited<ReturnType<typeof serveApp>>

/** Sends bytes as they are; undici would not send a body without knowing its length. */
async function post({ port }: Pick<Served, 'port'>, body: Uint8Array, headers: Record<string, string>) {
  const call = httpRequest({
    port,
    path: '/v1/chat/completions',
    method: 'POST',
    headers: { ...AUTHORIZED, ...headers },
  })
  call.end(body)
  const [response] = await once(call, 'response')
  let answer = ''
  for await (const chunk of response) answer += String(chunk)
  const parsed: { error?: { code: string; message: string; param?: string } } = JSON.parse(answer)
  return { status: Number(response.statusCode), error: parsed.error }
}

const sized = (body: Uint8Array, encoding: string) => ({
  'content-encoding': encoding,
  'content-length': String(body.length),
})
const chunked = (encoding: string) => ({ 'content-encoding': encoding, 'transfer-encoding': 'chunked' })

const ENCODERS: [encoding: string, encode: (text: string) => Buffer][] = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['GZIP', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
  ['identity', Buffer.from],
]

test.each(ENCODERS)(
  'a body in %s is read, of known length and in chunks, small and large',
  async (...[encoding, encode]) => {
    const fed = createFedCore()
    const served = await serveApp(fed.generate)
    for (const content of ['Hello', 'words and words '.repeat(6_000)]) {
      const body = encode(JSON.stringify({ ...CHAT, messages: [{ role: 'user', content }] }))
      for (const headers of [sized(body, encoding), chunked(encoding)]) {
        const called = fed.nextCall()
        const answered = post(served, body, headers)
        const { request } = await called
        expect(request).toMatchObject({ messages: [{ role: 'user', content }] })
        fed.feed([END])
        expect((await answered).status).toBe(200)
      }
    }
  },
)

test.each(['compress', 'gzip, br', 'gzip, gzip', 'x'])(
  'the encoding %s is refused by name',
  async (encoding) => {
    const served = await serveApp(core)
    const body = gzipSync(JSON.stringify(CHAT))
    expect(await post(served, body, sized(body, encoding))).toMatchObject({
      status: 400,
      error: {
        code: 'invalid_request',
        param: 'content-encoding',
        message: `'content-encoding': expected one of gzip, x-gzip, deflate, br, zstd, not '${encoding}'.`,
      },
    })
  },
)

test.each(ENCODERS.slice(0, 6))(
  'what is not %s, or ends too early, is refused by its name',
  async (...[encoding, encode]) => {
    const served = await serveApp(core)
    const whole = encode(JSON.stringify(CHAT))
    for (const body of [Buffer.from(JSON.stringify(CHAT)), whole.subarray(0, whole.length - 6)]) {
      expect(await post(served, body, sized(body, encoding))).toMatchObject({
        status: 400,
        error: { param: 'content-encoding', message: expect.stringContaining(encoding.toLowerCase()) },
      })
    }
    expect(await post(served, whole, sized(whole, encoding))).toMatchObject({ status: 200 })
  },
)

const LIMIT = 100_000

test.each(ENCODERS.slice(0, 6))(
  'a bomb in %s is 413 at the limit of a body, and costs no more',
  async (...[encoding, encode]) => {
    const served = await serveApp(core, { bodyBytes: LIMIT })
    const bomb = encode(`{"model":"${'x'.repeat(40_000_000)}"}`)
    expect(bomb.length).toBeLessThan(LIMIT)
    for (const headers of [sized(bomb, encoding), chunked(encoding)]) {
      expect(await post(served, bomb, headers)).toMatchObject({
        status: 413,
        error: { message: 'The body must not be larger than 100,000 bytes.' },
      })
    }
    expect((await served.chat(CHAT)).status).toBe(200)
  },
)

test('a body is bounded as it is sent too, whatever it decodes to', async () => {
  const served = await serveApp(core, { bodyBytes: LIMIT })
  const nothing = Buffer.concat(Array<Buffer>(10_000).fill(gzipSync('')))
  expect(nothing.length).toBeGreaterThan(LIMIT)
  expect((await post(served, nothing, sized(nothing, 'gzip'))).status).toBe(413)
  expect((await post(served, nothing, chunked('gzip'))).status).toBe(413)
})

test('what is decoded counts in the memory of bodies', async () => {
  const served = await serveApp(core, { allBodiesBytes: 2 * LIMIT, bodyBytes: LIMIT })
  // Large bodies have half of the memory.
  const fits = gzipSync(JSON.stringify({ ...CHAT, padding: 'x'.repeat(LIMIT - 1_000) }))
  expect((await post(served, fits, sized(fits, 'gzip'))).status).toBe(200)
  const tight = await serveApp(core, { allBodiesBytes: LIMIT, bodyBytes: LIMIT })
  expect((await post(tight, fits, sized(fits, 'gzip'))).status).toBe(503)
  expect((await tight.chat(CHAT)).status).toBe(200)
})

test('a compressed upload takes no decoder before it has arrived', async () => {
  const { app, port } = await serveApp(core)
  const params = { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 5 }
  // A decoder takes 16 MiB as soon as it has these few bytes.
  const body = brotliCompressSync(Buffer.alloc(32_000_000, 'ab'), { params })
  const rssBefore = process.memoryUsage().rss
  for (let at = 0; at < 40; at += 1) {
    const arrived = once(app.server, 'request')
    const headers = { ...AUTHORIZED, 'content-encoding': 'br', 'content-length': '100' }
    const upload = httpRequest({ port, path: '/v1/chat/completions', method: 'POST', headers })
    onTestFinished(() => void upload.destroy())
    upload.on('error', () => {})
    upload.write(body)
    const [incoming] = await arrived
    await expect.poll(() => incoming.socket.bytesRead, { interval: 5 }).toBeGreaterThan(body.length + 100)
  }
  // The answer shows that the decoders' threads have worked on what came before.
  const small = brotliCompressSync(JSON.stringify(CHAT))
  expect((await post({ port }, small, sized(small, 'br'))).status).toBe(200)
  expect((process.memoryUsage().rss - rssBefore) / 1_048_576).toBeLessThan(200)
})

test('a window that would take much memory is refused', async () => {
  const served = await serveApp(core)
  const params = { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_enableLongDistanceMatching]: 1 }
  // The window is only as large as the content if the content's size is known and smaller.
  const body = zstdCompressSync(JSON.stringify({ ...CHAT, padding: ' '.repeat(20_000_000) }), { params })
  expect(await post(served, body, sized(body, 'zstd'))).toMatchObject({
    status: 400,
    error: { param: 'content-encoding' },
  })
})

test('a compressed body, which may be large, is not read for a caller who can pay for nothing', async () => {
  const shortage = { availableNano: toNanoCredits('0'), heldNano: toNanoCredits('0'), of: 'account' } as const
  const poor = { keyId: 'key-1', accountId: 'account-1', weight: 1, models: null, shortage }
  const served = await serveApp(core, {}, { authenticate: async () => poor })
  const body = gzipSync('not even JSON')
  expect((await post(served, body, sized(body, 'gzip'))).status).toBe(402)
})
