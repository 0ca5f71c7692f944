import OpenAI, { APIError } from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import { ResponseObject } from '#apps/gateway/endpoints/responses/response-object.ts'
import type { Generate, OutputEvent } from '#apps/gateway/generation/request/generation-call.ts'
import {
  always,
  AUTHORIZED,
  createFedCore,
  END,
  failing,
  KEY,
  MODEL,
  serveApp,
  text,
  USAGE,
} from './gateway-app.ts'

const ASK = { model: MODEL, input: 'Hi' }

const REASONED: OutputEvent[][] = [
  [
    { type: 'reasoning-delta', text: 'h' },
    { type: 'reasoning-delta', text: 'm' },
  ],
  [text('Hel')],
  [text('lo €𝄞'), END],
]
const CALLED: OutputEvent[][] = [
  [
    { type: 'tool-call-start', index: 0, id: 'call_0', name: 'get_weather' },
    { type: 'tool-call-delta', index: 0, text: '{"city"' },
  ],
  [{ type: 'tool-call-delta', index: 0, text: ':"Paris"}' }],
  [
    { type: 'tool-call-start', index: 1, id: 'call_1', name: 'get_time' },
    { type: 'generation-end', finishReason: 'tool-calls', usage: USAGE },
  ],
]
const CUT: OutputEvent[][] = [[text('Hel'), { type: 'generation-end', finishReason: 'length', usage: USAGE }]]

async function connectClient(generate: Generate) {
  const { url } = await serveApp(generate)
  return new OpenAI({ baseURL: url, apiKey: KEY, maxRetries: 0 })
}

async function post(generate: Generate, body: object, headers: Record<string, string> = {}) {
  const { url } = await serveApp(generate)
  return await fetch(`${url}/responses`, {
    method: 'POST',
    headers: { ...AUTHORIZED, ...headers },
    body: JSON.stringify(body),
  })
}

describe('a response', () => {
  it('passes the conversation of the input items to the core', async () => {
    const core = createFedCore()
    core.feed([END])
    await post(core.generate, {
      ...ASK,
      instructions: 'Be brief.',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
        { type: 'function_call', call_id: 'call_0', name: 'get_weather', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_0', output: 'sunny' },
      ],
      max_output_tokens: 7,
    })
    expect(core.calls[0]).toMatchObject({
      model: { id: MODEL },
      maxOutputTokens: 7,
      request: {
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Weather?' },
          { role: 'assistant', toolCalls: [{ id: 'call_0', name: 'get_weather', arguments: '{}' }] },
          { role: 'tool', content: 'sunny', toolCallId: 'call_0' },
        ],
      },
    })
  })

  it('is read whole by the openai client', async () => {
    const client = await connectClient(always(...REASONED))
    const response = await client.responses.create(ASK)
    expect(response).toMatchObject({
      id: `resp_${response._request_id}`,
      model: MODEL,
      status: 'completed',
      output_text: 'Hello €𝄞',
      usage: { input_tokens: 5, output_tokens: 4, total_tokens: 9 },
    })
    expect(response.output.map(({ type }) => type)).toEqual(['reasoning', 'message'])
  })

  it.each([
    ['text after thinking', REASONED, 'Hello €𝄞'],
    ['calls only', CALLED, ''],
    ['a cut answer', CUT, 'Hel'],
    ['nothing at all', [[END]], ''],
  ])(
    'of %s is the same to the openai client, whole, streamed raw and assembled by its helper',
    async (_name, batches, output_text) => {
      const client = await connectClient(always(...batches))
      const whole = await client.responses.create(ASK)
      const assembled = await client.responses.stream(ASK).finalResponse()
      let last: unknown = null
      for await (const event of await client.responses.create({ ...ASK, stream: true })) {
        last = event.type === 'response.completed' ? event.response : null
      }
      expect(whole.output_text).toBe(output_text)
      for (const streamed of [assembled, last])
        expect(withoutIdentity(streamed)).toEqual(withoutIdentity(whole))
    },
  )

  it('gives the openai helper every delta with what it adds up to', async () => {
    const client = await connectClient(always(...CALLED))
    const snapshots: string[] = []
    const stream = client.responses.stream(ASK)
    stream.on('response.function_call_arguments.delta', ({ snapshot }) => snapshots.push(snapshot))
    await stream.done()
    expect(snapshots).toEqual(['{"city"', '{"city":"Paris"}'])
  })

  it('is parsed by the openai client, whole and streamed', async () => {
    const client = await connectClient(always([text('{"n"')], [text(':1}'), END]))
    const format = zodTextFormat(z.object({ n: z.number() }), 'number')
    const whole = await client.responses.parse({ ...ASK, text: { format } })
    expect(whole.output_parsed).toEqual({ n: 1 })
    const streamed = await client.responses.stream({ ...ASK, text: { format } }).finalResponse()
    expect(streamed.output_parsed).toEqual({ n: 1 })
  })

  it('that the limit cut short is incomplete for the openai client', async () => {
    const client = await connectClient(always(...CUT))
    const response = await client.responses.stream(ASK).finalResponse()
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    })
  })
})

/**
 * Returns a response as we sent it, without the values that differ between requests and the values that the client
 * adds.
 */
function withoutIdentity(response: unknown) {
  const {
    id: _id,
    created_at: _created,
    completed_at: completed,
    output,
    ...rest
  } = ResponseObject.parse(response)
  const items = output.map(({ id, ...item }) => ({ ...item, prefix: id.split('_')[0] }))
  return { ...rest, isCompleted: completed !== null, items }
}

describe('a stream', () => {
  const stream = { ...ASK, stream: true }

  it('to an unknown client has the six types of the interface, on data lines only, and no [DONE]', async () => {
    const response = await post(always(...REASONED), stream)
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(response.headers.get('x-responses-events')).toBe('spec')
    const events = (await response.text()).split('\n\n').filter((event) => event !== '')
    expect(events.filter((event) => !/^data: \{.*\}$/.test(event))).toEqual([])
    expect(events.map((event) => event.match(/"type":"([^"]*)"/)?.[1])).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.output_item.done',
      'response.completed',
    ])
  })

  it('to the openai client is the full set, unless the header asks for the other', async () => {
    const client = await connectClient(always(...REASONED))
    const { response, data } = await client.responses.create({ ...ASK, stream: true }).withResponse()
    expect(response.headers.get('x-responses-events')).toBe('full')
    const types: string[] = []
    for await (const { type } of data) types.push(type)
    expect(types).toContain('response.reasoning_summary_text.delta')

    const headers = { 'x-responses-events': 'spec' }
    const asked = await client.responses.create({ ...ASK, stream: true }, { headers }).withResponse()
    expect(asked.response.headers.get('x-responses-events')).toBe('spec')
    asked.data.controller.abort()
  })

  it('is refused where the header asks for a set that there is not', async () => {
    const response = await post(always([END]), stream, { 'x-responses-events': 'all' })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { code: 'invalid_request', param: 'x-responses-events' },
    })
  })
})

describe('a failure', () => {
  it.each([
    [new ApiError('invalid_request', 'Too long.'), { status: 400, code: 'invalid_request', retried: false }],
    [
      new ApiError('insufficient_credits', 'Not enough.'),
      { status: 402, code: 'insufficient_credits', retried: false },
    ],
    [
      new ApiError('model_busy', 'Busy.', { retryAfterS: 2 }),
      { status: 429, code: 'model_busy', retried: true },
    ],
    [new ApiError('model_unavailable', 'Off.'), { status: 503, code: 'model_unavailable', retried: true }],
    [new ApiError('upstream_error', 'Lost.'), { status: 503, code: 'model_unavailable', retried: true }],
  ])('before the output, %s, has its status, streamed or not', async (error, { status, code, retried }) => {
    const client = await connectClient(failing(error))
    for (const stream of [false, true]) {
      const refused = client.responses.create({ ...ASK, stream })
      await expect(refused).rejects.toMatchObject({
        status,
        code,
        type: 'api_error',
        requestID: expect.any(String),
      })
      await expect(refused).rejects.toSatisfy(
        (raised) => raised instanceof APIError && raised.headers?.has('retry-after') === retried,
      )
    }
  })

  it('in the middle of a stream is raised by the openai client, raw and by its helper', async () => {
    const client = await connectClient(failing(new ApiError('upstream_error', 'Lost.'), [text('a')]))
    const raw = async () => {
      const types: string[] = []
      for await (const { type } of await client.responses.create({ ...ASK, stream: true })) types.push(type)
      return types
    }
    await expect(raw()).rejects.toMatchObject({ code: 'model_unavailable', type: 'api_error' })
    await expect(client.responses.stream(ASK).finalResponse()).rejects.toMatchObject({
      code: 'model_unavailable',
    })
  })

  it.each(['spec', 'full'])('in the middle of a stream of the %s set is its last event', async (events) => {
    const failure = failing(new ApiError('upstream_error', 'Lost.'), [text('a')])
    const response = await post(failure, { ...ASK, stream: true }, { 'x-responses-events': events })
    const last = (await response.text()).trimEnd().split('\n').at(-1) ?? ''
    expect(JSON.parse(last.slice('data: '.length))).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'model_unavailable' } },
      error: { code: 'model_unavailable', message: expect.any(String), type: 'api_error' },
    })
  })
})
