import { describe, expect, it } from 'vitest'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { ResponseObject } from '#apps/gateway/endpoints/responses/response-object.ts'
import { prepare } from './responses-answer.ts'

const Settings = ResponseObject.omit({ output: true }).partial().required({ text: true, reasoning: true })

const schema = { type: 'object', properties: { n: { type: 'number' } } }
const flat = { type: 'function', name: 'f', description: 'd', parameters: schema, strict: null }
const nested = {
  type: 'function',
  function: { name: 'f', description: 'd', parameters: schema, strict: true },
}

const settings = (body: Record<string, unknown>, changes: Partial<ModelSpec> = {}) =>
  Settings.parse(JSON.parse(prepare(body, changes).options.settings))

describe('the settings that a response repeats', () => {
  it('are the effective ones where the request names none', () => {
    expect(settings({})).toEqual({
      background: false,
      frequency_penalty: 0,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: {},
      parallel_tool_calls: true,
      presence_penalty: 0,
      previous_response_id: null,
      prompt_cache_key: null,
      reasoning: { effort: 'low', summary: null },
      safety_identifier: null,
      service_tier: 'default',
      store: false,
      temperature: 1,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      top_logprobs: 0,
      top_p: 1,
      truncation: 'disabled',
      user: null,
    })
  })

  it('are the request’s own, resolved and flat', () => {
    const given = {
      instructions: 'Be brief.',
      max_tokens: 10_000_000,
      temperature: 0,
      top_p: 0.5,
      presence_penalty: 1,
      frequency_penalty: -1,
      parallel_tool_calls: false,
      reasoning: { effort: 'off', summary: 'concise' },
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema } },
      tools: [nested, { type: 'web_search' }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      metadata: { a: 'b' },
      user: 'u',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      store: true,
      truncation: 'auto',
      service_tier: 'flex',
    }
    expect(settings(given)).toMatchObject({
      instructions: 'Be brief.',
      max_output_tokens: 2_048,
      temperature: 0,
      top_p: 0.5,
      presence_penalty: 1,
      frequency_penalty: -1,
      parallel_tool_calls: false,
      reasoning: { effort: 'none', summary: 'concise' },
      text: { format: { type: 'json_schema', name: 'n', description: null, schema, strict: true } },
      tools: [{ type: 'function', name: 'f', description: 'd', parameters: schema, strict: true }],
      tool_choice: { type: 'function', name: 'f' },
      metadata: { a: 'b' },
      user: 'u',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      store: false,
      truncation: 'disabled',
      service_tier: 'default',
    })
  })

  it('have the number of listed tokens, which has no effect without include', () => {
    const listed = { top_logprobs: 5, include: ['message.output_text.logprobs'] }
    expect(settings(listed).top_logprobs).toBe(5)
    expect(settings({ top_logprobs: 5 }).top_logprobs).toBe(0)
  })

  it('have effort none on a model without reasoning', () => {
    expect(settings({ reasoning: { effort: 'high' } }, { reasoning: false }).reasoning.effort).toBe('none')
  })

  it.each([
    { type: 'regex', pattern: 'a' },
    { type: 'choice', choices: ['a'] },
    { type: 'grammar', grammar: 'root ::= "a"' },
  ])('name the format %j as text, because OpenAI has no such type', (format) => {
    const body = { text: { format } }
    expect(settings(body).text).toEqual({ format: { type: 'text' } })
  })

  it('omit long settings', () => {
    const large = 'x'.repeat(70_000)
    expect(settings({ instructions: large }).instructions).toBeNull()
    expect(settings({ tools: [{ ...flat, description: large }] }).tools).toEqual([])
    const format = { type: 'json_schema', name: 'n', schema: { ...schema, description: large } }
    expect(settings({ text: { format } }).text.format).toMatchObject({ name: 'n', schema: null })
  })

  it('have every field that Open Responses requires, together with the response’s own fields', () => {
    const required =
      'id object created_at completed_at status incomplete_details model previous_response_id instructions output ' +
      'error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty ' +
      'top_logprobs temperature reasoning usage max_output_tokens max_tool_calls store background service_tier ' +
      'metadata safety_identifier prompt_cache_key'
    expect(Object.keys(ResponseObject.shape)).toEqual(expect.arrayContaining(required.split(' ')))
  })
})
