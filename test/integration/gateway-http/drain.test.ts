import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { always, CHAT, createFedCore, END, failing, serveApp, STREAM, text } from './gateway-app.ts'

test('a gateway without a request in progress is drained at once', async () => {
  const { drain, chat } = await serveApp(always([END]))
  expect((await chat(CHAT)).status).toBe(200)
  await drain()
})

test('while a stream ends, new requests on new connections are refused with 503 and sent elsewhere', async () => {
  const core = createFedCore()
  const { drain, chat } = await serveApp(core.generate)
  const called = core.nextCall()
  const streaming = chat(STREAM)
  await called
  core.feed([text('Hi')])
  const stream = await streaming

  const drained = drain()
  const refused = await chat(CHAT)
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(refused.headers.get('connection')).toBe('close')
  expect(await refused.json()).toMatchObject({ error: { code: 'model_unavailable', type: 'api_error' } })

  core.feed([text(' there'), END])
  const body = await stream.text()
  expect(body).toContain('Hi')
  expect(body).toContain('data: [DONE]')
  await drained
  expect(core.calls).toHaveLength(1)
})

test('a connection that is idle is closed, so that its client opens the next one to another gateway', async () => {
  const core = createFedCore()
  const { drain, chat, port } = await serveApp(core.generate)
  const idle = connect(port, '127.0.0.1')
  idle.write('GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n')
  await once(idle, 'data')
  idle.resume()

  const called = core.nextCall()
  const streaming = chat(STREAM)
  await called
  const drained = drain()
  await once(idle, 'close')
  core.feed([text('Hi'), END])
  expect(await (await streaming).text()).toContain('data: [DONE]')
  await drained
})

test('a stream that begins and then fails is counted, by the reason of its end', async () => {
  const { registry, chat } = await serveApp(failing(new Error('test: the core broke'), [text('Hi')]))
  expect(await (await chat(STREAM)).text()).toContain('upstream_error')
  expect((await chat(CHAT)).status).toBe(502)
  expect(await registry.metrics()).toContain('millrace_gateway_streams_cut_total{reason="internal"} 1\n')
})
