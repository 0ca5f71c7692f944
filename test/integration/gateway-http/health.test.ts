import { expect, test } from 'vitest'
import { always, CHAT, createFedCore, END, serveApp, STREAM } from './gateway-app.ts'

const healthOf = async (url: string) => await fetch(new URL('/health', url))

test('a gateway that takes work is healthy, without a key', async () => {
  const { url } = await serveApp(always([END]))
  const response = await healthOf(url)
  expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }])
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
})

test('a gateway that takes no work yet is a 503 with the error object', async () => {
  const { url } = await serveApp(always([END]), {}, { takesWork: () => false })
  const response = await healthOf(url)
  expect(response.status).toBe(503)
  expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
  expect(await response.json()).toMatchObject({ error: { code: 'model_unavailable', type: 'api_error' } })
})

test('a gateway that stops is a 503, while its streams go on', async () => {
  const core = createFedCore()
  const { url, drain, chat } = await serveApp(core.generate)
  expect((await healthOf(url)).status).toBe(200)
  const called = core.nextCall()
  const streaming = chat(STREAM)
  await called
  const drained = drain()
  expect((await healthOf(url)).status).toBe(503)
  core.feed([END])
  expect(await (await streaming).text()).toContain('data: [DONE]')
  await drained
})

test.each([
  ['POST', '/chat/completions', ' Did you mean /v1/chat/completions?'],
  ['POST', '/chat/completions?x=1', ' Did you mean /v1/chat/completions?'],
  ['GET', '/models/org/demo', ' Did you mean /v1/models/org/demo?'],
  ['POST', '/v1/v1/responses', ' Did you mean /v1/responses?'],
  ['GET', '/chat/completions', ''],
  ['POST', '/v1/chat/completion', ''],
  ['PUT', '/models', ''],
])('%s %s, which is no operation, is answered with the path that is meant', async (method, path, advice) => {
  const { url } = await serveApp(always([END]))
  const response = await fetch(new URL(path, url), {
    method,
    ...(method === 'POST' && { body: JSON.stringify(CHAT) }),
  })
  expect([response.status, await response.json()]).toEqual([
    404,
    {
      error: {
        message: `There is no operation ${method} ${path}.${advice}`,
        type: 'api_error',
        code: 'invalid_request',
      },
    },
  ])
})
