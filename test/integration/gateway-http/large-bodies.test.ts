import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { always, AUTHORIZED, CHAT, END, serveApp, text } from './gateway-app.ts'

const LARGE = 65_536
const core = always([text('Hi'), END])
const padded = { ...CHAT, padding: 'x'.repeat(LARGE) }

/** Starts an upload and sends the first half of the body. `finish` sends the rest. */
async function beginUpload(
  port: number,
  body: string,
  { announced = true, key = AUTHORIZED }: { announced?: boolean; key?: { authorization: string } } = {},
) {
  const upload = httpRequest({
    port,
    method: 'POST',
    path: '/v1/chat/completions',
    headers: {
      ...key,
      ...(announced ? { 'content-length': body.length } : { 'transfer-encoding': 'chunked' }),
    },
  })
  const answered = once(upload, 'response').then(async ([response]) => ({
    status: Number(response.statusCode),
    retryAfter: response.headers['retry-after'],
    body: await json(response),
  }))
  upload.on('error', () => {})
  // An upload that a test leaves open fails at the end of the test.
  answered.catch(() => undefined)
  const half = body.length >> 1
  await new Promise((resolve) => upload.write(body.slice(0, half), resolve))
  return { answered, finish: () => upload.end(body.slice(half)) }
}

type App = Awaited<ReturnType<typeof serveApp>>

/** Resolves with the next request when the gateway begins to read its body. */
function nextUpload({ app }: Pick<App, 'app'>): Promise<IncomingMessage> {
  const { promise, resolve } = Promise.withResolvers<IncomingMessage>()
  app.server.once('request', (incoming) => incoming.once('resume', () => resolve(incoming)))
  return promise
}

/** Starts an upload. Resolves when the gateway reads it. */
async function beginArriving(app: App, body: string, options: Parameters<typeof beginUpload>[2] = {}) {
  const arrived = nextUpload(app)
  const upload = await beginUpload(app.port, body, options)
  await arrived
  return upload
}

it('a large body is answered like a small one', async () => {
  const { chat } = await serveApp(core)
  const [small, large] = await Promise.all([chat(CHAT), chat(padded)])
  expect(large.status).toBe(200)
  expect(await large.json()).toMatchObject({ choices: [{ message: { content: 'Hi' } }] })
  expect(small.status).toBe(200)
})

it('a large body is refused like a small one, with the field that is wrong', async () => {
  const { chat } = await serveApp(core)
  const [small, large] = await Promise.all([
    chat({ ...CHAT, temperature: 3 }),
    chat({ ...padded, temperature: 3 }),
  ])
  expect(large.status).toBe(small.status)
  expect(await large.json()).toEqual(await small.json())
})

const eachKeyIsAnAccount = async (key = '') => ({
  keyId: key,
  accountId: key,
  weight: 1,
  models: null,
  shortage: null,
})

/** Serves an app in which each key is an account, and whose clock stands still. */
async function serveAccounts(allBodiesBytes: number) {
  const clock = { ms: 0 }
  const replaced = { authenticate: eachKeyIsAnAccount, nowMs: () => clock.ms }
  const served = await serveApp(core, { allBodiesBytes }, replaced)
  return {
    ...served,
    clock,
    begin: async (account: string, body: string, announced = true) =>
      await beginArriving(served, body, { key: { authorization: account }, announced }),
    statusOf: async (account: string, sent: unknown) =>
      (await served.chat(sent, { headers: { authorization: account } })).status,
  }
}

const BUSY = { status: 503, retryAfter: '2', body: { error: { code: 'model_unavailable' } } }

it.each([true, false])(
  'when large bodies have no memory left, the slowest goes, not the next (announced: %s)',
  async (announced) => {
    const { clock, begin } = await serveAccounts(8 * LARGE)
    const body = JSON.stringify({ ...CHAT, padding: 'x'.repeat(2.5 * LARGE) })
    const slow = await begin('a', body, announced)
    clock.ms += 9_000
    const next = await begin('a', body, announced)
    expect(await slow.answered).toMatchObject(BUSY)
    next.finish()
    expect(await next.answered).toMatchObject({ status: 200 })
  },
)

it('an account gets as much as each of the others, and large bodies take nothing of the small ones', async () => {
  const { begin, statusOf } = await serveAccounts(8 * LARGE)
  const body = JSON.stringify({ ...CHAT, padding: 'x'.repeat(LARGE) })
  const first = [await begin('a', body), await begin('a', body), await begin('b', body)]
  // `a` has more than a third of the memory of large bodies, so it loses an upload.
  expect(await statusOf('c', body)).toBe(200)
  expect(await Promise.race(first.slice(0, 2).map(async ({ answered }) => await answered))).toMatchObject(
    BUSY,
  )
  // `d` would have more than `a` and `b`, so it gets no more.
  expect(await statusOf('d', { ...CHAT, padding: 'x'.repeat(4 * LARGE) })).toBe(503)
  expect(await statusOf('d', CHAT)).toBe(200)
  for (const upload of first) upload.finish()
  expect((await first[2]?.answered)?.status).toBe(200)
})

it('small bodies do not take the memory of large ones', async () => {
  const { begin } = await serveAccounts(5 * LARGE)
  const body = JSON.stringify({ ...CHAT, padding: 'x'.repeat(LARGE) })
  const uploads = [await begin('a', body), await begin('b', body)]
  for (const account of ['c', 'd', 'e']) await begin(account, '{"')
  for (const upload of uploads) upload.finish()
  for (const upload of uploads) expect((await upload.answered).status).toBe(200)
})

it('a body of one byte counts as what its request takes, and leaves when others need the memory', async () => {
  const { clock, begin, statusOf } = await serveAccounts(160 * 1_024)
  const silent = []
  for (let index = 0; index < 4; index += 1) {
    silent.push(await begin('a', '{"'))
    clock.ms += 1_000
  }
  expect(await statusOf('b', CHAT)).toBe(200)
  expect(await silent[0]?.answered).toMatchObject(BUSY)
  // The account itself is served as well, in place of its slowest upload.
  silent.push(await begin('a', '{"'))
  expect(await statusOf('a', CHAT)).toBe(200)
  expect(await silent[1]?.answered).toMatchObject(BUSY)
  silent[2]?.finish()
  expect((await silent[2]?.answered)?.status).toBe(400)
})

/** Sends the header of an upload and one byte. Resolves when the header has arrived. */
async function announce(app: Pick<App, 'app' | 'port'>, headers: Record<string, string>) {
  const arrived = nextUpload(app)
  const upload = httpRequest({ port: app.port, method: 'POST', path: '/v1/chat/completions', headers })
  onTestFinished(() => void upload.destroy())
  upload.on('error', () => {})
  upload.write('{')
  const { socket } = await arrived
  return { upload, bytesRead: () => socket.bytesRead }
}

it('twelve accounts with thirteen silent uploads lock out nobody, neither small bodies nor large ones', async () => {
  const { statusOf, ...served } = await serveAccounts(128 * 1_048_576)
  for (let bytes = 32 * 1_048_576, at = 0; at < 13; bytes = Math.max(bytes / 2, 33_000), at += 1) {
    await announce(served, { authorization: `poor ${at % 12}`, 'content-length': String(bytes) })
  }
  expect(await statusOf('new', CHAT)).toBe(200)
  expect(await statusOf('new', { ...CHAT, padding: 'x'.repeat(8 * 1_048_576) })).toBe(200)
})

it.each<[string, Record<string, string>]>([
  ['announced', { 'content-length': '100000' }],
  ['in chunks', { 'transfer-encoding': 'chunked' }],
  ['compressed', { 'content-encoding': 'gzip', 'content-length': '100000' }],
])('an upload that does not move ends with 408, one that moves goes on: %s', async (_name, headers) => {
  const { clock, seconds, ...served } = await serveAccounts(8 * LARGE)
  const silent = await announce(served, { authorization: 'a', ...headers })
  const moving = await announce(served, { authorization: 'a', ...headers })
  const [answered, ended] = [once(silent.upload, 'response'), once(moving.upload, 'response')]
  let movingEnded = false
  moving.upload.once('response', () => (movingEnded = true))
  moving.upload.write(' '.repeat(20_000))
  await expect.poll(moving.bytesRead).toBeGreaterThan(20_000)
  clock.ms += 10_000
  seconds(1)
  const [response] = await answered
  expect(response.statusCode).toBe(408)
  expect(await json(response)).toMatchObject({
    error: { message: 'A body must arrive with at least 1024 bytes per second.' },
  })
  clock.ms += 9_999
  seconds(1)
  expect(movingEnded).toBe(false)
  clock.ms += 1
  seconds(1)
  expect((await ended)[0].statusCode).toBe(408)
})

it('a client that neither reads its refusal nor hangs up loses its connection', async () => {
  const { clock, seconds, ...served } = await serveAccounts(8 * LARGE)
  const closed = once(served.app.server, 'connection').then(async ([socket]) => await once(socket, 'close'))
  const socket = connect({ port: served.port, host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  const arrived = nextUpload(served)
  socket.write(
    'POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: a\r\ncontent-length: 9\r\n\r\n{',
  )
  await arrived
  clock.ms += 10_000
  seconds(1)
  await expect(closed).resolves.toBeDefined()
})

it.each([
  ['a short conversation', CHAT, 'event-loop'],
  ['500 values', { ...CHAT, ignored: Array.from({ length: 500 }, () => 0) }, 'thread'],
  ['a schema', { ...CHAT, response_format: { type: 'json_schema', json_schema: { schema: {} } } }, 'thread'],
  ['a tool', { ...CHAT, tools: [{ type: 'function', function: { name: 'f' } }] }, 'thread'],
  ['64 KiB', padded, 'thread'],
])('a body with %s is prepared on the event loop or on a thread', async (...[, body, place]) => {
  const { chat, registry } = await serveApp(core)
  expect((await chat(body)).status).toBe(200)
  expect(await registry.getSingleMetric('millrace_http_bodies_total')?.get()).toMatchObject({
    values: [{ labels: { place }, value: 1 }],
  })
})
