import { describe, expect, it } from 'vitest'
import { ConstraintError } from '#libs/dialect/constraints/constraint-error.ts'
import { toConstraint } from '#libs/dialect/constraints/to-constraint.ts'
import type { ToolDefinition } from '#libs/contracts/generation-request.ts'
import { generationJob } from '../../../../support/generation-job.ts'

type Request = Parameters<typeof toConstraint>[0]

const hermes = { toolCalls: 'hermes' } as const
const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const weather: ToolDefinition = { name: 'get_weather', description: 'Tells it.', parameters: city }
const clock: ToolDefinition = { name: 'clock', description: null, parameters: null }
const answer = { type: 'object', properties: { text: { type: 'string' } } }
const jsonSchema = { type: 'json-schema', schema: answer } as const

const constrain = (fields: Partial<Request>, family: Parameters<typeof toConstraint>[1] = hermes) =>
  toConstraint({ ...generationJob().request, ...fields }, family)

const weatherTag = {
  begin: '<tool_call>\n{"name": "get_weather", "arguments": ',
  schema: city,
  end: '}\n</tool_call>',
}
const clockTag = {
  begin: '<tool_call>\n{"name": "clock", "arguments": ',
  schema: { type: 'object', properties: {}, additionalProperties: false },
  end: '}\n</tool_call>',
}
const bothTools = { tools: [weather, clock] }
const calls = (single: boolean) => ({ section: null, tags: [weatherTag, clockTag], separator: '\n', single })

describe('what the engine is told to hold the output to', () => {
  it.each([
    ['no tools, text', {}, null],
    ['tools, text', bothTools, null],
    ['tools, text, at most one call', { ...bothTools, parallelToolCalls: false }, null],
    ['tools that may not be called, text', { ...bothTools, toolChoice: 'none' }, null],
    ['an object', { outputFormat: { type: 'json-object' } }, { type: 'json', schema: { type: 'object' } }],
    ['a schema', { outputFormat: jsonSchema }, { type: 'json', schema: answer }],
    [
      'a schema whose references the engine cannot follow',
      {
        outputFormat: { type: 'json-schema', schema: { anyOf: [{ $ref: '#/x/0' }], x: [{ type: 'null' }] } },
      },
      {
        type: 'json',
        schema: {
          anyOf: [{ $ref: '#/$defs/millrace-reference-1' }],
          x: [{ type: 'null' }],
          $defs: { 'millrace-reference-1': { type: 'null' } },
        },
      },
    ],
    [
      'a schema, tools that may not be called',
      { ...bothTools, toolChoice: 'none', outputFormat: jsonSchema },
      { type: 'json', schema: answer },
    ],
    [
      'a schema, tools',
      { ...bothTools, outputFormat: jsonSchema },
      { type: 'calls-or-json', schema: answer, calls: calls(false) },
    ],
    [
      'an object, tools, at most one call',
      { ...bothTools, outputFormat: { type: 'json-object' }, parallelToolCalls: false },
      { type: 'calls-or-json', schema: { type: 'object' }, calls: calls(true) },
    ],
    ['any tool', { ...bothTools, toolChoice: 'required' }, { type: 'calls', calls: calls(false) }],
    [
      'any tool, at most one call',
      { ...bothTools, toolChoice: 'required', parallelToolCalls: false },
      { type: 'calls', calls: calls(true) },
    ],
    [
      'any tool, although a format was asked for',
      { ...bothTools, toolChoice: 'required', outputFormat: jsonSchema },
      { type: 'calls', calls: calls(false) },
    ],
    [
      'one tool, which means one call',
      { ...bothTools, toolChoice: { name: 'clock' }, outputFormat: jsonSchema },
      { type: 'calls', calls: { section: null, tags: [clockTag], separator: '\n', single: true } },
    ],
  ] as const)('%s', (_, fields, constraint) => {
    expect(constrain({ ...fields, tools: 'tools' in fields ? [...fields.tools] : [] })).toEqual(constraint)
  })

  it('an answer alone, in a family without tools', () => {
    const fields = { ...bothTools, outputFormat: jsonSchema }
    expect(constrain(fields, { toolCalls: 'none' })).toEqual({ type: 'json', schema: answer })
  })
})

describe('strict tools of a model that need not call', () => {
  const strict = { ...weather, strict: true }

  it('hold each call from its beginning on, the others’ to any object', () => {
    expect(constrain({ tools: [strict, clock] })).toEqual({
      type: 'text-with-calls',
      trigger: '<tool_call>',
      calls: { ...calls(false), tags: [weatherTag, { ...clockTag, schema: { type: 'object' } }] },
    })
    expect(constrain({ tools: [strict], parallelToolCalls: false })).toMatchObject({
      calls: { single: true },
    })
  })

  it.each([
    ['none is strict', { tools: [{ ...weather, strict: false }, clock] }, hermes],
    ['none may be called', { tools: [strict], toolChoice: 'none' }, hermes],
    ['the family has no calls', { tools: [strict] }, { toolCalls: 'none' }],
    ['nothing marks a call', { tools: [strict] }, { toolCalls: 'json' }],
    ['its values have no quotes', { tools: [strict] }, { toolCalls: 'glm-4.5' }],
    ['its values are Python’s', { tools: [strict] }, { toolCalls: 'pythonic' }],
  ] as const)('leave it free where %s', (_, fields, family) => {
    expect(constrain({ ...fields, tools: [...fields.tools] }, family)).toBeNull()
  })

  it('change nothing where a call is forced', () => {
    expect(constrain({ tools: [strict], toolChoice: 'required' })).toEqual(
      constrain({ tools: [weather], toolChoice: 'required' }),
    )
  })
})

it('forced calls are refused in a family without tools', () => {
  for (const toolChoice of ['required', { name: 'clock' }] as const) {
    expect(() => constrain({ ...bothTools, toolChoice }, { toolCalls: 'none' })).toThrow(ConstraintError)
  }
})

it.each([
  [{}, { type: 'object' }],
  [{ properties: { a: {} } }, { properties: { a: {} }, type: 'object' }],
  [
    { $ref: '#/$defs/a', $defs: { a: city } },
    { $ref: '#/$defs/a', $defs: { a: city } },
  ],
  [{ anyOf: [city, answer] }, { anyOf: [city, answer] }],
])('arguments are an object where their schema leaves it open: %j', (parameters, schema) => {
  const tools = [{ ...weather, parameters }]
  expect(constrain({ tools, toolChoice: 'required' })).toMatchObject({ calls: { tags: [{ schema }] } })
})

it('a name with quotes stands in its tag as JSON writes it', () => {
  const tools = [{ ...clock, name: 'say "hi"\\' }]
  expect(constrain({ tools, toolChoice: 'required' })).toMatchObject({
    calls: { tags: [{ begin: String.raw`<tool_call>${'\n'}{"name": "say \"hi\"\\", "arguments": ` }] },
  })
})

describe('harmony', () => {
  const harmony = { toolCalls: 'harmony' } as const
  const thinking = { begin: '<|channel|>analysis<|message|>', end: '<|end|>' }

  it('is left free where nothing is asked for', () => {
    expect(constrain(bothTools, harmony)).toBeNull()
  })

  it('thinks first, and then calls or answers in a message of its own', () => {
    expect(constrain({ ...bothTools, toolChoice: { name: 'clock' } }, harmony)).toEqual({
      type: 'after-thinking',
      thinking,
      output: {
        type: 'calls',
        calls: {
          section: null,
          tags: [
            {
              ...clockTag,
              begin:
                '<|start|>assistant<|channel|>commentary to=functions.clock <|constrain|>json<|message|>',
              end: '<|call|>',
            },
          ],
          separator: '',
          single: true,
        },
      },
    })
    expect(constrain({ outputFormat: jsonSchema }, harmony)).toEqual({
      type: 'after-thinking',
      thinking,
      output: {
        type: 'json',
        header: '<|start|>assistant<|channel|>final <|constrain|>json<|message|>',
        schema: answer,
      },
    })
  })
})
