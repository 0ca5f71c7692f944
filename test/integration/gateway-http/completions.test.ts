import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { Generate } from '#apps/gateway/generation/request/generation-call.ts'
import { always, AUTHORIZED, createFedCore, END, failing, KEY, MODEL, serveApp, text } from './gateway-app.ts'

const PROMPT = { model: MODEL, prompt: 'Hi' }

async function connectClient(generate: Generate) {
  const { url } = await serveApp(generate)
  return new OpenAI({ baseURL: url, apiKey: KEY, maxRetries: 0 })
}

async function post(generate: Generate, body: object) {
  const { url } = await serveApp(generate)
  return await fetch(`${url}/completions`, {
    method: 'POST',
    headers: AUTHORIZED,
    body: JSON.stringify(body),
  })
}

describe('a legacy completion', () => {
  it('hands the core one user message and the limit of 1,024 tokens', async () => {
    const core = createFedCore()
    core.feed([END])
    await post(core.generate, { ...PROMPT, prompt: ['a', 'b'] })
    expect(core.calls[0]).toMatchObject({
      model: { id: MODEL },
      maxOutputTokens: 1_024,
      request: { messages: [{ role: 'user', content: 'a\nb' }], reasoningEffort: 'off', tools: [] },
    })
  })

  it('is read by the openai client, whole and streamed', async () => {
    const client = await connectClient(always([text('Hel')], [text('lo'), END]))
    const whole = await client.completions.create(PROMPT)
    expect(whole).toMatchObject({
      object: 'text_completion',
      model: MODEL,
      choices: [{ index: 0, text: 'Hello', finish_reason: 'stop' }],
      usage: { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 },
    })
    expect(whole.id).toBe(`cmpl-${whole._request_id}`)

    const chunks = []
    const stream = await client.completions.create({
      ...PROMPT,
      stream: true,
      stream_options: { include_usage: true },
    })
    for await (const chunk of stream) chunks.push(chunk)
    expect(chunks.map(({ choices }) => choices[0]?.text).join('')).toBe('Hello')
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([null, null, 'stop'])
    expect(chunks.some((chunk) => 'usage' in chunk)).toBe(false)
  })

  it('streams events that end with [DONE]', async () => {
    const response = await post(always([text('a'), END]), { ...PROMPT, stream: true })
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    const body = await response.text()
    expect(body.endsWith('data: [DONE]\n\n')).toBe(true)
    expect(body).not.toContain('delta')
  })
})

describe('a failure', () => {
  it.each([false, true])('before the first event is an HTTP status, streamed: %j', async (stream) => {
    const client = await connectClient(failing(new ApiError('upstream_error', 'Lost.')))
    await expect(client.completions.create({ ...PROMPT, stream })).rejects.toMatchObject({
      status: 502,
      code: 'upstream_error',
    })
  })

  it('in the middle of a stream is an error event, then [DONE], and no finish chunk', async () => {
    const core = failing(new ApiError('upstream_error', 'Lost.'), [text('a')])
    const body = await (await post(core, { ...PROMPT, stream: true })).text()
    expect(body.slice(0, -2).split('\n\n').slice(1)).toEqual([
      'data: {"error":{"message":"Lost.","type":"api_error","code":"upstream_error"}}',
      'data: [DONE]',
    ])
    const client = await connectClient(core)
    const stream = await client.completions.create({ ...PROMPT, stream: true })
    const read = async () => {
      for await (const chunk of stream) expect(chunk.choices[0]?.text).toBe('a')
    }
    await expect(read()).rejects.toMatchObject({ code: 'upstream_error' })
  })
})

it.each([
  ['no prompt', { model: MODEL }, 400, 'prompt'],
  ['no model', { prompt: 'Hi' }, 400, 'model'],
  ['tokens', { ...PROMPT, prompt: [1, 2] }, 400, 'prompt'],
  ['a suffix', { ...PROMPT, suffix: 'x' }, 400, 'suffix'],
  ['an unknown model', { ...PROMPT, model: 'nope' }, 404, undefined],
  ['a model that does not chat', { ...PROMPT, model: 'vectors' }, 404, undefined],
])('%s is refused', async (...[, body, status, param]) => {
  const response = await post(always([END]), body)
  const { error } = JSON.parse(await response.text())
  expect([response.status, error.param]).toEqual([status, param])
})
