import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { Generate, OutputEvent } from '#apps/gateway/generation/generation-call.ts'
import { always, END, failing, KEY, MODEL, serveApp, text, USAGE } from './gateway-app.ts'

const messages = [{ role: 'user' as const, content: 'Hi' }]

const TOOL_CALL: OutputEvent[][] = [
  [
    { type: 'tool-call-start', index: 0, id: 'call_0', name: 'get_weather' },
    { type: 'tool-call-delta', index: 0, text: '{"city"' },
  ],
  [{ type: 'tool-call-delta', index: 0, text: ':"Paris"}' }],
  [{ type: 'generation-end', finishReason: 'tool-calls', usage: USAGE }],
]
const tools = [
  {
    type: 'function' as const,
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  },
]

async function connectClient(generate: Generate, apiKey = KEY) {
  const { url } = await serveApp(generate)
  return new OpenAI({ baseURL: url, apiKey, maxRetries: 0 })
}

describe('the openai client', () => {
  it('reads a whole answer', async () => {
    const client = await connectClient(always([text('Hel')], [text('lo'), END]))
    const answer = await client.chat.completions.create({ model: MODEL, messages })
    expect(answer.choices[0]?.message.content).toBe('Hello')
    expect(answer._request_id).toBe(answer.id.replace('chatcmpl-', ''))
    expect(answer.usage?.total_tokens).toBe(9)
  })

  it('assembles a streamed answer with its helper', async () => {
    const client = await connectClient(always([text('Hel')], [text('lo €𝄞'), END]))
    const stream = client.chat.completions.stream({
      model: MODEL,
      messages,
      stream_options: { include_usage: true },
    })
    const answer = await stream.finalChatCompletion()
    expect(answer.choices[0]?.message).toMatchObject({ role: 'assistant', content: 'Hello €𝄞' })
    expect(answer.choices[0]?.finish_reason).toBe('stop')
    expect((await stream.totalUsage()).total_tokens).toBe(9)
  })

  it('reads tool calls, whole and streamed', async () => {
    const client = await connectClient(always(...TOOL_CALL))
    const whole = await client.chat.completions.create({ model: MODEL, messages, tools })
    const streamed = await client.chat.completions
      .stream({ model: MODEL, messages, tools })
      .finalChatCompletion()
    for (const { choices } of [whole, streamed]) {
      expect(choices[0]?.finish_reason).toBe('tool_calls')
      expect(choices[0]?.message.tool_calls).toMatchObject([
        { id: 'call_0', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
      ])
    }
    expect(whole.choices[0]?.message.content).toBeNull()
  })

  it('reads the catalog, also an id with a slash', async () => {
    const client = await connectClient(always([END]))
    const ids = (await client.models.list()).data.map((model) => model.id)
    expect(ids).toContain(MODEL)
    expect((await client.models.retrieve(MODEL)).id).toBe(MODEL)
  })

  it.each([
    [new ApiError('insufficient_credits', 'Not enough.'), 402, 'insufficient_credits'],
    [new ApiError('model_busy', 'Busy.', { retryAfterS: 2 }), 429, 'model_busy'],
    [new ApiError('upstream_error', 'Lost.'), 502, 'upstream_error'],
    [new ApiError('model_unavailable', 'Off.'), 503, 'model_unavailable'],
  ])('throws %s with status and code', async (error, status, code) => {
    const client = await connectClient(failing(error))
    for (const stream of [false, true]) {
      await expect(client.chat.completions.create({ model: MODEL, messages, stream })).rejects.toMatchObject({
        status,
        code,
        type: 'api_error',
        requestID: expect.any(String),
      })
    }
  })

  it('throws a wrong key and an unknown model', async () => {
    const stranger = await connectClient(always([END]), 'wrong')
    await expect(stranger.models.list()).rejects.toMatchObject({ status: 401, code: 'invalid_key' })
    const client = await connectClient(always([END]))
    await expect(client.models.retrieve('nope-1')).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
      message: expect.stringContaining(`Unknown model 'nope-1'`),
    })
  })

  it('throws a failure in the middle of a stream', async () => {
    const client = await connectClient(failing(new ApiError('upstream_error', 'Lost.'), [text('a')]))
    const stream = await client.chat.completions.create({ model: MODEL, messages, stream: true })
    const read = async () => {
      for await (const chunk of stream) expect(chunk.choices[0]?.delta.content).toBeTypeOf('string')
    }
    await expect(read()).rejects.toMatchObject({ code: 'upstream_error' })
  })
})
