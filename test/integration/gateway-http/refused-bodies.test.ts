import { expect, it } from 'vitest'
import { always, CHAT, END, serveApp, text } from './gateway-app.ts'

const core = always([text('Hi'), END])

/** An account may send one refused body per second: ten at once, five from one address. Each key is an account. */
const serve = async (given = {}) =>
  await serveApp(
    core,
    { refusedBodiesPerS: 1, ...given },
    {
      authenticate: async (authorization = '') => ({
        keyId: authorization,
        accountId: authorization,
        weight: 1,
        models: null,
        shortage: null,
      }),
      nowMs: () => 1_000_000,
    },
  )

const WRONG = { ...CHAT, temperature: 9 }

it('beyond a rate an account’s bodies are 429 before they are read, right ones too, and those of others are answered', async () => {
  const { chat, registry } = await serve()
  for (let sent = 0; sent < 5; sent += 1) expect((await chat(WRONG)).status).toBe(400)
  for (const body of [WRONG, CHAT]) {
    const refused = await chat(body)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d?$/)
    expect(await refused.json()).toMatchObject({
      error: { code: 'model_busy', message: expect.not.stringMatching(/quota|billing|credit/i) },
    })
  }
  expect(await registry.getSingleMetric('millrace_http_bodies_total')?.get()).toMatchObject({
    values: [{ value: 5 }],
  })
  expect((await chat(CHAT, { headers: { authorization: 'Bearer other' } })).status).toBe(200)
})

it.each([
  ['no JSON', '{'],
  ['an unknown model', { ...CHAT, model: 'nope' }],
  ['a list of wrong entries', { ...CHAT, messages: Array.from({ length: 9_000 }, () => 0) }],
])('bodies with %s count', async (...[, body]) => {
  const { chat } = await serve()
  for (let sent = 0; sent < 5; sent += 1) expect([400, 404]).toContain((await chat(body)).status)
  expect((await chat(CHAT)).status).toBe(429)
})

it('bodies that are too large count', async () => {
  const { chat } = await serve({ bodyBytes: 1_000 })
  const large = { ...CHAT, padding: 'x'.repeat(2_000) }
  for (let sent = 0; sent < 5; sent += 1) expect((await chat(large)).status).toBe(413)
  expect((await chat(CHAT)).status).toBe(429)
})

it('answered bodies and requests without one do not count', async () => {
  const { chat, url } = await serve()
  for (let sent = 0; sent < 10; sent += 1) {
    expect((await chat(CHAT)).status).toBe(200)
    const missing = await fetch(`${url}/models/nope`, { headers: { authorization: 'Bearer good-key' } })
    expect(missing.status).toBe(404)
  }
  expect((await chat(CHAT)).status).toBe(200)
})

it('behind a trusted proxy the client’s address counts', async () => {
  const { chat } = await serve({ trustedProxies: ['127.0.0.1', '::1'] })
  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
  for (let sent = 0; sent < 5; sent += 1) await chat(WRONG, from('192.0.2.1'))
  expect((await chat(CHAT, from('192.0.2.1'))).status).toBe(429)
  expect((await chat(CHAT, from('192.0.2.2'))).status).toBe(200)
})
