import { describe, expect, it } from 'vitest'
import { ApiError } from '#libs/contracts/api-error.ts'
import { always, CHAT, createFedCore, END, failing, MODEL, serveApp, STREAM, text } from './gateway-app.ts'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

const eventsOf = (body: string) => {
  expect(body.endsWith('\n\n')).toBe(true)
  return body.slice(0, -2).split('\n\n')
}

describe('a chat completion', () => {
  it('is one JSON object that carries the request’s id and the caller’s model', async () => {
    const { chat } = await serveApp(always([text('Hel')], [text('lo'), END]))
    const response = await chat(CHAT)
    const id = response.headers.get('x-request-id')
    expect(response.status).toBe(200)
    expect(id).toMatch(UUID_V7)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(await response.json()).toMatchObject({
      id: `chatcmpl-${id}`,
      model: MODEL,
      choices: [{ message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 },
    })
  })

  it('hands the core the caller, the model and the translated request', async () => {
    const core = createFedCore()
    const { chat } = await serveApp(core.generate)
    core.feed([END])
    await chat({ ...CHAT, max_tokens: 5, stop: 'x', prompt_tokens: 999 })
    expect(core.calls[0]).toMatchObject({
      id: expect.stringMatching(UUID_V7),
      caller: { keyId: 'key-1', accountId: 'account-1', weight: 1, models: null, shortage: null },
      model: { id: MODEL },
      request: { kind: 'chat', stop: ['x'], messages: [{ role: 'user', content: 'Hi' }] },
      maxOutputTokens: 5,
    })
  })

  it('streams events that end with [DONE]', async () => {
    const { chat } = await serveApp(always([text('Hel')], [text('lo'), END]))
    const response = await chat({ ...STREAM, stream_options: { include_usage: true } })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(response.headers.get('cache-control')).toBe('no-cache')
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    expect(response.headers.get('x-request-id')).toMatch(UUID_V7)
    const list = eventsOf(await response.text())
    expect(list).toHaveLength(6)
    expect(list.at(-2)).toContain('"usage"')
    expect(list.at(-1)).toBe('data: [DONE]')
  })

  it('sends the first events before the generation has ended', async () => {
    const core = createFedCore()
    const { chat } = await serveApp(core.generate)
    core.feed([text('a')])
    const response = await chat(STREAM)
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader?.read())?.value).toContain('"content":"a"')
    core.feed([text('b'), END])
    expect((await reader?.read())?.value).toContain('"content":"b"')
  })
})

describe('a failure of the core', () => {
  const busy = new ApiError('model_busy', 'Busy.', { retryAfterS: 3.2 })

  it.each([CHAT, STREAM])('before the first event is an HTTP status', async (body) => {
    const { chat } = await serveApp(failing(busy))
    const response = await chat(body)
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('4')
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(response.headers.get('x-request-id')).toMatch(UUID_V7)
    expect(await response.json()).toEqual({
      error: { message: 'Busy.', type: 'api_error', code: 'model_busy' },
    })
  })

  it('after the first event is an error event, then [DONE], and no finish chunk', async () => {
    const { chat, registry } = await serveApp(failing(new ApiError('upstream_error', 'Lost.'), [text('a')]))
    const response = await chat(STREAM)
    const list = eventsOf(await response.text())
    expect(list.slice(-2)).toEqual([
      'data: {"error":{"message":"Lost.","type":"api_error","code":"upstream_error"}}',
      'data: [DONE]',
    ])
    expect(list.join('')).not.toContain('"finish_reason":"')
    await expect
      .poll(() => registry.metrics())
      .toContain(
        'millrace_http_requests_total{route="/v1/chat/completions",status="200",code="upstream_error"} 1',
      )
  })

  it('is not hidden when the output stops without its end', async () => {
    const { chat } = await serveApp(always([text('a')]))
    expect((await chat(CHAT)).status).toBe(502)
    expect(eventsOf(await (await chat(STREAM)).text()).at(-2)).toContain('"code":"upstream_error"')
  })

  it('that was not foreseen is a neutral 502', async () => {
    const { chat, logged } = await serveApp(failing(new Error('password=hunter2')))
    const response = await chat(CHAT)
    expect(logged.join('')).toContain('hunter2')
    expect(logged.join('')).toContain(response.headers.get('x-request-id'))
    expect(response.status).toBe(502)
    const body = await response.text()
    expect(body).toContain('"code":"upstream_error"')
    expect(body).not.toContain('hunter2')
  })

  it.each([
    [0, '1'],
    [59.5, '59'],
    [3_600, '59'],
    [undefined, '5'],
  ])('says retry-after of %j s as %s', async (retryAfterS, expected) => {
    const details = retryAfterS === undefined ? {} : { retryAfterS }
    const { chat } = await serveApp(failing(new ApiError('model_unavailable', 'Off.', details)))
    const response = await chat(CHAT)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, expected])
  })
})

describe('hanging up', () => {
  it.each([
    ['while queued', STREAM, []],
    ['during a stream', STREAM, [[text('a')]]],
    ['before a whole answer', CHAT, [[text('a')]]],
  ])('aborts the generation %s', async (_name, body, batches) => {
    const core = createFedCore()
    const { chat, registry, logged } = await serveApp(core.generate)
    const hangUp = new AbortController()
    const arrived = core.nextCall()
    core.feed(...batches)
    const answered = chat(body, { signal: hangUp.signal }).then((response) => response.text())
    const { signal } = await arrived
    expect(signal.aborted).toBe(false)
    hangUp.abort()
    await expect(answered).rejects.toMatchObject({ name: 'AbortError' })
    await expect.poll(() => signal.aborted).toBe(true)
    await expect.poll(() => registry.metrics()).toContain('code="client_gone"} 1')
    expect(logged).toEqual([])
  })

  it('is not assumed of a client that read everything', async () => {
    const core = createFedCore()
    const { chat } = await serveApp(core.generate)
    for (const body of [STREAM, CHAT]) {
      core.feed([text('a'), END])
      await (await chat(body)).text()
    }
    expect(core.calls.map((call) => call.signal.aborted)).toEqual([false, false])
  })
})
