import { describe, expect, it } from 'vitest'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { ChatRequest } from '#libs/contracts/generation-request.ts'
import { ChatBody } from '#apps/gateway/endpoints/chat-completions/chat-body.ts'
import { toGeneration } from '#apps/gateway/endpoints/chat-completions/to-generation.ts'
import { parseBody } from '#apps/gateway/http/parse-body.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const model = modelSpec({ id: 'org/demo', contextWindow: 8_192, reasoning: true, defaultEffort: 'low' })
const messages = [{ role: 'user', content: 'Hi' }]
const tool = {
  type: 'function',
  function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true },
}

function translate(body: Record<string, unknown>, changes: Partial<ModelSpec> = {}) {
  return toGeneration(parseBody(ChatBody, { messages, ...body }), { ...model, ...changes })
}
const request = (body: Record<string, unknown>) => translate(body).request

describe('messages', () => {
  it.each([
    ['a string', { role: 'user', content: 'a' }, { role: 'user', content: 'a' }],
    [
      'text parts, joined as they are',
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: ' b' },
        ],
      },
      { role: 'user', content: 'a b' },
    ],
    ['system', { role: 'system', content: 's', name: 'n' }, { role: 'system', content: 's' }],
    ['developer as system', { role: 'developer', content: 's' }, { role: 'system', content: 's' }],
    ['null content as none', { role: 'user', content: null }, { role: 'user', content: '' }],
    [
      'a tool message',
      { role: 'tool', tool_call_id: 'c', name: 'f', content: [{ type: 'text', text: 'r' }] },
      { role: 'tool', content: 'r', toolCallId: 'c' },
    ],
    [
      'a tool message without id',
      { role: 'tool', content: 'r' },
      { role: 'tool', content: 'r', toolCallId: '' },
    ],
    [
      'an assistant with reasoning',
      { role: 'assistant', content: 'a', reasoning_content: 'r', tool_calls: null },
      { role: 'assistant', content: 'a', reasoning: 'r', toolCalls: [] },
    ],
  ])('reads %s', (_name, given, expected) => {
    expect(request({ messages: [given] }).messages).toEqual([expected])
  })

  it.each([null, '', undefined])('reads content %j next to tool calls', (content) => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
    const { messages } = request({ messages: [{ role: 'assistant', content, tool_calls: [call] }] })
    expect(messages).toEqual([
      {
        role: 'assistant',
        content: '',
        reasoning: '',
        toolCalls: [{ id: 'c', name: 'f', arguments: '{"a":1}' }],
      },
    ])
  })

  it.each([
    ['messages', { messages: 'x' }],
    ['messages', { messages: [] }],
    ['messages[0]', { messages: ['x'] }],
    ['messages[0].role', { messages: [{}] }],
    ['messages[0].role', { messages: [{ role: 'unknown', content: 'x' }] }],
    ['messages[0].role', { messages: [{ role: 'function', content: 'x' }] }],
    ['messages[0].content', { messages: [{ role: 'user' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 5 }] }],
    [
      'messages[1].content[0]',
      {
        messages: [...messages, { role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }],
      },
    ],
    [
      'messages[0].tool_calls[0].id',
      { messages: [{ role: 'assistant', tool_calls: [{ id: 5, function: { name: 'f' } }] }] },
    ],
  ])('names %s when it is wrong', (param, body) => {
    expect(() => translate(body)).toThrow(expect.objectContaining({ code: 'invalid_request', param }))
  })

  it('lists the allowed roles in the error', () => {
    expect(() => translate({ messages: [{ role: 'unknown', content: 'x' }] })).toThrow(
      'expected one of system, developer, user, assistant, tool',
    )
  })
})

describe('tools', () => {
  it('reads function tools and their strict flag', () => {
    expect(request({ tools: [tool, { type: 'function', function: { name: 'g' } }] }).tools).toEqual([
      { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true },
      { name: 'g', description: null, parameters: null },
    ])
  })

  it.each([
    [{}, 'auto'],
    [{ tool_choice: null }, 'auto'],
    [{ tool_choice: 'auto' }, 'auto'],
    [{ tool_choice: 'none' }, 'none'],
    [{ tool_choice: 'required' }, 'required'],
    [{ tool_choice: { type: 'function', function: { name: 'f' } } }, { name: 'f' }],
    [{ tool_choice: { type: 'function', name: 'f' } }, { name: 'f' }],
    [{ tool_choice: 'any' }, 'required'],
  ])('reads the choice of %j as %j', (body, expected) => {
    expect(request({ ...body, tools: [tool] }).toolChoice).toEqual(expected)
  })

  it.each([
    ['tool_choice', { tool_choice: 'required', tools: [] }],
    ['tool_choice', { tool_choice: 'required', tools: [{ type: 'web_search' }] }],
    ['tool_choice', { tool_choice: { type: 'web_search' }, tools: [tool, { type: 'web_search' }] }],
    ['tool_choice', { tool_choice: { type: 'function', function: { name: 'g' } }, tools: [tool] }],
    ['tool_choice', { tool_choice: 'sometimes', tools: [tool] }],
    ['tool_choice.function.name', { tool_choice: { type: 'function', function: {} }, tools: [tool] }],
    ['tools', { tools: 'x' }],
    ['tools[0].type', { tools: [{ name: 'x' }] }],
    ['tools[0].name', { tools: [{ type: 'function' }] }],
    ['tools[0].function.name', { tools: [{ type: 'function', function: {} }] }],
    [
      'tools[0].function.parameters',
      { tools: [{ type: 'function', function: { name: 'f', parameters: [1] } }] },
    ],
  ])('names %s when it is wrong', (param, body) => {
    expect(() => translate(body)).toThrow(expect.objectContaining({ code: 'invalid_request', param }))
  })

  const wrong = { type: 'function', function: { name: 'f', parameters: { type: 'nothing' } } }
  const flat = { type: 'function', name: 'f', parameters: { type: 'nothing' } }
  const jsonObject = { response_format: { type: 'json_object' } }

  it.each([
    ['tools[0].function.parameters', { tool_choice: 'required', tools: [wrong] }],
    ['tools[0].parameters', { tool_choice: 'required', tools: [flat] }],
    ['tools[1].parameters', { tool_choice: { type: 'function', name: 'f' }, tools: [{ type: 'x' }, flat] }],
    ['tools[0].parameters', { tools: [flat], ...jsonObject }],
    ['tools[0].parameters', { tools: [{ ...flat, strict: true }] }],
  ])('rejects the invalid schema %s where calls are constrained to it', (param, body) => {
    expect(() => translate(body)).toThrow(
      expect.objectContaining({ code: 'invalid_request', param, message: expect.stringContaining('#/type') }),
    )
  })

  it.each([
    { tools: [wrong] },
    { tools: [{ ...flat, strict: false }] },
    { tools: [{ ...flat, strict: true }], tool_choice: 'none' },
    { tools: [wrong], tool_choice: 'none', ...jsonObject },
    { tools: [wrong, { type: 'function', name: 'g' }], tool_choice: { type: 'function', name: 'g' } },
  ])('accepts any schema of a tool whose calls are not constrained: %j', (body) => {
    expect(request(body).tools).toHaveLength(body.tools.length)
  })

  it('refuses a schema that is nested too deeply to be serialized', () => {
    const depth = 200_000
    const parameters: unknown = JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)
    expect(() => translate({ tools: [{ type: 'function', function: { name: 'f', parameters } }] })).toThrow(
      expect.objectContaining({ param: 'tools[0].function.parameters' }),
    )
  })

  it('refuses tools on a model without tools, but accepts an empty list', () => {
    expect(() => translate({ tools: [tool] }, { tools: false })).toThrow(
      expect.objectContaining({ code: 'invalid_request', param: 'tools' }),
    )
    expect(translate({ tools: [] }, { tools: false }).request.tools).toEqual([])
  })
})

describe('effort', () => {
  it.each(['off', 'low', 'high', 'max'])('accepts %s under both names', (effort) => {
    expect(request({ reasoning_effort: effort }).reasoningEffort).toBe(effort)
    expect(request({ effort }).reasoningEffort).toBe(effort)
    expect(request({ effort, reasoning_effort: effort }).reasoningEffort).toBe(effort)
  })

  it('is the model’s default where none is given', () => {
    expect(translate({}, { defaultEffort: 'off' }).request.reasoningEffort).toBe('off')
    expect(translate({ effort: null }, { defaultEffort: 'low' }).request.reasoningEffort).toBe('low')
  })

  it.each(['medium', 'minimal', 'xhigh', 'none', 5])('refuses %j and lists the allowed efforts', (effort) => {
    for (const field of ['effort', 'reasoning_effort']) {
      expect(() => translate({ [field]: effort })).toThrow('expected one of off, low, high, max')
    }
  })

  it('refuses two different efforts', () => {
    expect(() => translate({ effort: 'low', reasoning_effort: 'high' })).toThrow(
      expect.objectContaining({ code: 'invalid_request', param: 'effort' }),
    )
  })
})

describe('output limit', () => {
  it.each([
    [{}, null],
    [{ max_tokens: null, max_completion_tokens: null }, null],
    [{ max_tokens: 7 }, 7],
    [{ max_completion_tokens: 8 }, 8],
    [{ max_tokens: 9, max_completion_tokens: 5 }, 5],
    [{ max_tokens: 10_000_000 }, 2_048],
    [{ max_tokens: 1e300 }, 2_048],
  ])('of %j is %j', (body, expected) => {
    expect(translate(body).maxOutputTokens).toBe(expected)
  })

  it.each([0, -1, 1.5, 'many', true])('refuses %j', (limit) => {
    for (const field of ['max_tokens', 'max_completion_tokens']) {
      expect(() => translate({ [field]: limit })).toThrow(
        expect.objectContaining({ code: 'invalid_request', param: field }),
      )
    }
  })
})

describe('sampling and stop', () => {
  it('passes on what the engine understands', () => {
    expect(
      request({
        temperature: 2,
        top_p: 1,
        top_k: 40,
        min_p: 0.1,
        frequency_penalty: -2,
        presence_penalty: 2,
        repetition_penalty: 1.1,
        seed: 7,
        logit_bias: { '12': -100 },
      }).sampling,
    ).toEqual({
      temperature: 2,
      topP: 1,
      topK: 40,
      minP: 0.1,
      frequencyPenalty: -2,
      presencePenalty: 2,
      repetitionPenalty: 1.1,
      seed: 7,
      logitBias: { '12': -100 },
    })
  })

  it.each([
    [0, 0],
    [2_147_483_647, 2_147_483_647],
    [2_147_483_648, 0],
    [-1, 2_147_483_647],
    [4_294_967_295, 2_147_483_647],
    [2 ** 63, 0],
  ])('folds the seed %d to %d', (seed, expected) => {
    expect(request({ seed }).sampling.seed).toBe(expected)
  })

  it('reads top_k -1 and 0 as no limit', () => {
    expect(request({ top_k: -1 }).sampling.topK).toBe(0)
    expect(request({ top_k: 0 }).sampling.topK).toBe(0)
  })

  it.each([
    [undefined, []],
    [null, []],
    ['###', ['###']],
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
    [[], []],
  ])('reads stop %j as %j', (stop, expected) => {
    expect(request({ stop }).stop).toEqual(expected)
  })

  it.each([
    ['temperature', -0.1],
    ['temperature', 2.1],
    ['temperature', '1'],
    ['top_p', 0],
    ['top_p', 1.1],
    ['top_k', -2],
    ['top_k', 1.5],
    ['min_p', 1.1],
    ['frequency_penalty', 2.1],
    ['presence_penalty', -2.1],
    ['repetition_penalty', 0],
    ['seed', 1.5],
    ['seed', 1e19],
    ['stop', 5],
    ['stop[0]', ''],
    ['stop[1]', ['a', 5]],
    ['stop', Array.from({ length: 17 }, () => 'x')],
    ['logit_bias.x', { x: 1 }],
    ['logit_bias.1', { '1': 101 }],
    ['stream', 'yes'],
    ['stream_options.include_usage', { include_usage: 1 }],
  ])('refuses %s of %j', (param, value) => {
    const field = param.split(/[.[]/)[0] ?? ''
    expect(() => translate({ [field]: value })).toThrow(
      expect.objectContaining({ code: 'invalid_request', param }),
    )
  })
})

it('makes a request that its schema accepts after serialization to JSON', () => {
  const made = request({ tools: [tool], temperature: 1, stop: 'x', logit_bias: {} })
  expect(ChatRequest.parse(JSON.parse(JSON.stringify(made)))).toBeTruthy()
})

it('accepts null on every optional field', () => {
  const fields = Object.keys(ChatBody.shape).filter((field) => field !== 'messages')
  expect(fields.length).toBeGreaterThan(15)
  const nulls = Object.fromEntries(fields.map((field) => [field, null]))
  expect(translate(nulls)).toEqual(translate({}))
})
