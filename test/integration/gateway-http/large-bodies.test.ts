import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { always, AUTHORIZED, CHAT, createFedCore, END, serveApp, text } from './gateway-app.ts'

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
  const half = body.length >> 1
  await new Promise((resolve) => upload.write(body.slice(0, half), resolve))
  return { answered, finish: () => upload.end(body.slice(half)) }
}

type App = Awaited<ReturnType<typeof serveApp>>

/** Starts an upload. Resolves when its headers have arrived. */
async function beginArriving({ app, port }: App, body: string, key = AUTHORIZED) {
  const arrived = once(app.server, 'request')
  const upload = await beginUpload(port, body, { key })
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

it.each([true, false])(
  'bodies that would take too much memory together are 503 (announced: %s), until others are done',
  async (announced) => {
    const fed = createFedCore()
    const { chat, port } = await serveApp(fed.generate, { allBodiesBytes: 4 * LARGE })
    const body = JSON.stringify(padded)
    const first = await beginUpload(port, body, { announced })
    // One account may use half of the memory, and this account already uses most of that half.
    const second = await beginUpload(port, body, { announced })
    second.finish()
    first.finish()
    const refused = await Promise.race([first.answered, second.answered])
    expect(refused).toMatchObject({
      status: 503,
      retryAfter: '2',
      body: { error: { code: 'model_unavailable' } },
    })
    expect((await chat({ ...CHAT, model: 'nope' })).status).toBe(404)
    // The accepted body is prepared and its request waits for the answer, so the body's memory is free again.
    await expect.poll(() => fed.calls.length).toBe(1)
    const hangUp = new AbortController()
    const third = chat(padded, { signal: hangUp.signal })
    await expect.poll(() => fed.calls.length).toBe(2)
    hangUp.abort()
    await expect(third).rejects.toThrow(/abort/)
  },
)

it('small bodies count as well', async () => {
  const served = await serveApp(core, { allBodiesBytes: LARGE })
  const small = JSON.stringify({ ...CHAT, padding: 'x'.repeat(20_000) })
  const first = await beginArriving(served, small)
  // One account may use at most as much as it leaves free: two bodies of 20 KB are more than half of 64 KiB.
  expect((await served.chat(small)).status).toBe(503)
  first.finish()
  expect((await first.answered).status).toBe(200)
})

it('a body of one byte counts as what its request takes', async () => {
  const served = await serveApp(core, { allBodiesBytes: 80 * 1_024 })
  const slow = [await beginArriving(served, '{"'), await beginArriving(served, '{"')]
  expect((await served.chat(CHAT)).status).toBe(503)
  for (const upload of slow) upload.finish()
  for (const upload of slow) expect((await upload.answered).status).toBe(400)
  expect((await served.chat(CHAT)).status).toBe(200)
})

it('what an account leaves is shared by those that come later, and small bodies still fit', async () => {
  const eachKeyIsAnAccount = async (key = '') => ({
    keyId: key,
    accountId: key,
    weight: 1,
    models: null,
    shortage: null,
  })
  const limits = { allBodiesBytes: 4 * LARGE }
  const served = await serveApp(core, limits, { authenticate: eachKeyIsAnAccount })
  const body = JSON.stringify({ ...CHAT, padding: 'x'.repeat(60_000) })
  const statusOf = async (account: string, sent: unknown) =>
    (await served.chat(sent, { headers: { authorization: account } })).status
  const uploads: Awaited<ReturnType<typeof beginUpload>>[] = []
  for (const authorization of ['a', 'a', 'b']) {
    uploads.push(await beginArriving(served, body, { authorization }))
  }
  // Of 256 KiB, `a` uses 118 KiB and `b` uses 59 KiB, which leaves 79 KiB. `c` may use at most half of that; it needs
  // 59 KiB.
  expect(await statusOf('c', body)).toBe(503)
  expect(await statusOf('c', CHAT)).toBe(200)
  for (const upload of uploads) upload.finish()
  for (const upload of uploads) expect((await upload.answered).status).toBe(200)
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
