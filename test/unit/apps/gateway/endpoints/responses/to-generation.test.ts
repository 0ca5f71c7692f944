import { describe, expect, it } from 'vitest'
import { ChatRequest } from '#libs/contracts/generation-request.ts'
import { prepare, refusal } from './responses-answer.ts'

const schema = { type: 'object', properties: { n: { type: 'number' } } }
const flat = { type: 'function', name: 'f', description: 'd', parameters: schema, strict: null }
const nested = {
  type: 'function',
  function: { name: 'f', description: 'd', parameters: schema, strict: true },
}
const user = { role: 'user', content: 'Hi' }

const request = (body: Record<string, unknown>) => prepare(body).request

describe('a Responses request', () => {
  it('becomes a valid chat request of plain data', () => {
    const prepared = prepare({
      instructions: 'Be brief.',
      input: [user],
      max_output_tokens: 7,
      temperature: 0.5,
      stop: '###',
      seed: 3,
      reasoning: { effort: 'high', summary: 'auto' },
      tools: [flat],
      stream: true,
    })
    expect(ChatRequest.parse(prepared.request)).toEqual(prepared.request)
    expect(structuredClone(prepared)).toEqual(prepared)
    expect(prepared).toMatchObject({
      model: { id: 'org/demo' },
      maxOutputTokens: 7,
      stream: true,
      request: {
        messages: [{ role: 'system', content: 'Be brief.' }, user],
        sampling: { temperature: 0.5, seed: 3 },
        stop: ['###'],
        reasoningEffort: 'high',
        tools: [{ name: 'f', description: 'd', parameters: schema }],
      },
    })
  })

  it.each([
    [{ include: ['message.output_text.logprobs'] }, 0],
    [{ include: ['reasoning.encrypted_content', 'message.output_text.logprobs'], top_logprobs: 20 }, 20],
    [{ include: ['message.output_text.logprobs'], top_logprobs: null }, 0],
    [{ top_logprobs: 5 }, undefined],
    [{ include: [], top_logprobs: 5 }, undefined],
    [{ include: null, top_logprobs: 0 }, undefined],
  ])('with %j asks for %s listed tokens', (body, expected) => {
    expect(request(body).topLogprobs).toBe(expected)
  })

  it('has no system message for empty instructions', () => {
    expect(request({ instructions: '' }).messages).toEqual([user])
  })

  it.each(['max_output_tokens', 'max_completion_tokens', 'max_tokens'])('is limited by %s', (field) => {
    expect(prepare({ [field]: 7 }).maxOutputTokens).toBe(7)
    expect(prepare({ [field]: 10_000_000 }).maxOutputTokens).toBe(2_048)
  })

  it('gets the smallest of its limits, or null without any', () => {
    expect(prepare({ max_output_tokens: 9, max_tokens: 7 }).maxOutputTokens).toBe(7)
    expect(prepare({}).maxOutputTokens).toBeNull()
  })

  it.each([
    [{ reasoning: { effort: 'max' } }, 'max'],
    [{ reasoning_effort: 'high' }, 'high'],
    [{ reasoning: { effort: 'none' } }, 'off'],
    [{ reasoning: { effort: 'none' }, reasoning_effort: 'off' }, 'off'],
    [{ reasoning: { effort: null, summary: null } }, 'low'],
    [{ reasoning: { summary: 'detailed' } }, 'low'],
    [{ reasoning: null }, 'low'],
    [{}, 'low'],
  ])('with %j has effort %s', (body, effort) => {
    expect(request(body).reasoningEffort).toBe(effort)
  })

  it('has effort off by default on a model whose default is off', () => {
    expect(prepare({}, { defaultEffort: 'off' }).request.reasoningEffort).toBe('off')
  })

  it.each([[flat], [nested]])('reads the tool %j', (tool) => {
    const tool_choice =
      tool === flat ? { type: 'function', name: 'f' } : { type: 'function', function: { name: 'f' } }
    expect(request({ tools: [tool], tool_choice, parallel_tool_calls: false })).toMatchObject({
      tools: [{ name: 'f', description: 'd', parameters: schema }],
      toolChoice: { name: 'f' },
      parallelToolCalls: false,
    })
  })

  it('drops tools other than functions, as long as none of them is forced', () => {
    const tools = [
      flat,
      { type: 'namespace', name: 'ns', tools: [{ type: 'web_search' }] },
      { type: 'web_search' },
      { type: 'custom', name: 'c' },
    ]
    expect(request({ tools, tool_choice: 'auto' }).tools).toHaveLength(1)
    expect(request({ tools: [{ type: 'web_search' }] }).tools).toEqual([])
    expect(() => request({ tools, tool_choice: { type: 'web_search' } })).toThrow(
      refusal('tool_choice', 'web_search'),
    )
    expect(() => request({ tools: [{ type: 'web_search' }], tool_choice: 'required' })).toThrow(
      refusal('tool_choice'),
    )
  })

  const jsonSchema = { type: 'json-schema', schema }

  it.each([
    [{ text: { format: { type: 'json_schema', name: 'n', schema, strict: true } } }, jsonSchema],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } } },
      jsonSchema,
    ],
    [
      {
        text: { format: { type: 'json_schema', name: 'n', schema } },
        response_format: { type: 'json_schema', json_schema: { name: 'm', schema: { ...schema } } },
      },
      jsonSchema,
    ],
    [{ text: { format: { type: 'json_object' } } }, { type: 'json-object' }],
    [{ text: { format: { type: 'text' } } }, { type: 'text' }],
    [{ text: { format: null, verbosity: 'low' } }, { type: 'text' }],
    [{ text: {} }, { type: 'text' }],
    [{}, { type: 'text' }],
  ])('with %j is answered in that format', (body, outputFormat) => {
    expect(request(body).outputFormat).toEqual(outputFormat)
  })

  it.each(
    Object.entries({
      instructions: null,
      max_output_tokens: null,
      max_completion_tokens: null,
      max_tokens: null,
      stream: null,
      temperature: null,
      top_p: null,
      stop: null,
      reasoning: null,
      reasoning_effort: null,
      tools: null,
      tool_choice: null,
      parallel_tool_calls: null,
      response_format: null,
      text: null,
      metadata: null,
      user: null,
      safety_identifier: null,
      prompt_cache_key: null,
      previous_response_id: null,
      conversation: null,
      background: null,
      include: null,
      prompt: null,
      truncation: null,
      max_tool_calls: null,
      top_logprobs: null,
    }),
  )('reads %s null as its absence', (field, value) => {
    expect(prepare({ [field]: value })).toEqual(prepare({}))
  })

  it('accepts fields without an effect on the answer', () => {
    const body = {
      store: true,
      service_tier: 'auto',
      background: false,
      top_logprobs: 0,
      truncation: 'auto',
      include: ['code_interpreter_call.outputs'],
      stream_options: { include_obfuscation: false },
      prompt_cache_retention: '24h',
      client_metadata: { a: 'b' },
      text: { verbosity: 'high' },
      prompt_tokens: 9,
      x_unknown: {},
    }
    expect(prepare(body)).toEqual(prepare({}))
  })
})
