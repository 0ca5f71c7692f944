import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { always, AUTHORIZED, CHAT, createFedCore, END, serveApp, text } from './gateway-app.ts'

const LARGE = 65_536
const core = always([text('Hi'), END])
const padded = { ...CHAT, padding: 'x'.repeat(LARGE) }

/** Starts an upload: sends the first half of the body; `finish` sends the rest. */
async function beginUpload(port: number, body: string, announced: boolean) {
  const upload = httpRequest({
    port,
    method: 'POST',
    path: '/v1/chat/completions',
    headers: {
      ...AUTHORIZED,
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
    const first = await beginUpload(port, body, announced)
    // One account may use half of the memory, and has used most of that.
    const second = await beginUpload(port, body, announced)
    second.finish()
    first.finish()
    const refused = await Promise.race([first.answered, second.answered])
    expect(refused).toMatchObject({
      status: 503,
      retryAfter: '2',
      body: { error: { code: 'model_unavailable' } },
    })
    expect((await chat({ ...CHAT, model: 'nope' })).status).toBe(404)
    // The accepted one is prepared and waits for its answer, so its memory is free again.
    await expect.poll(() => fed.calls.length).toBe(1)
    const hangUp = new AbortController()
    const third = chat(padded, { signal: hangUp.signal })
    await expect.poll(() => fed.calls.length).toBe(2)
    hangUp.abort()
    await expect(third).rejects.toThrow(/abort/)
  },
)
