import { describe, expect, it } from 'vitest'
import {
  ConstraintError,
  allowsOneCall,
  callsFormat,
  constrainOutput,
} from '#libs/dialect/constrain-output.ts'
import type { CallsShape, EngineConstraint } from '#libs/dialect/engine-constraint.ts'
import { TOOL_CALL_FORMAT_NAMES, TOOL_CALL_FORMATS, type ToolCallFormatName } from '#libs/dialect/formats.ts'
import type { ToolDefinition } from '#libs/contracts/generation-request.ts'
import { generationJob } from '../../../support/generation-job.ts'
import { parseWith } from './parse-under-test.ts'

type Request = Parameters<typeof constrainOutput>[0]

const hermes = { toolCalls: 'hermes' } as const
const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const weather: ToolDefinition = { name: 'get_weather', description: 'The weather.', parameters: city }
const clock: ToolDefinition = { name: 'clock', description: null, parameters: null }
const answer = { type: 'object', properties: { text: { type: 'string' } } }
const jsonSchema = { type: 'json-schema', schema: answer } as const

const constrain = (fields: Partial<Request>, family: Parameters<typeof constrainOutput>[1] = hermes) =>
  constrainOutput({ ...generationJob().request, ...fields }, family)

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

describe('the constraint on the output', () => {
  it.each([
    ['no tools, text', {}, null],
    ['tools, text', bothTools, null],
    ['tools, text, at most one call', { ...bothTools, parallelToolCalls: false }, null],
    ['tools that may not be called, text', { ...bothTools, toolChoice: 'none' }, null],
    ['an object', { outputFormat: { type: 'json-object' } }, { type: 'answer', schema: { type: 'object' } }],
    ['a schema', { outputFormat: jsonSchema }, { type: 'answer', schema: answer }],
    [
      'a schema with bounds that the engine cannot hold',
      { outputFormat: { type: 'json-schema', schema: { type: 'integer', minimum: 0, maximum: 2 ** 64 } } },
      { type: 'answer', schema: { type: 'integer', minimum: 0 } },
    ],
    [
      'a schema whose references the engine cannot follow',
      {
        outputFormat: { type: 'json-schema', schema: { anyOf: [{ $ref: '#/x/0' }], x: [{ type: 'null' }] } },
      },
      {
        type: 'answer',
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
      { type: 'answer', schema: answer },
    ],
    [
      'a schema, tools',
      { ...bothTools, outputFormat: jsonSchema },
      { type: 'calls-or-answer', schema: answer, calls: calls(false) },
    ],
    [
      'an object, tools, at most one call',
      { ...bothTools, outputFormat: { type: 'json-object' }, parallelToolCalls: false },
      { type: 'calls-or-answer', schema: { type: 'object' }, calls: calls(true) },
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
    expect(constrain(fields, { toolCalls: 'none' })).toEqual({ type: 'answer', schema: answer })
  })
})

describe('strict tools of a model that may choose not to call', () => {
  const strict = { ...weather, strict: true }

  it('constrain each call from its beginning on, calls of other tools to any object', () => {
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

it('forced calls are rejected in a family without tools', () => {
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

it('a name with quotes is escaped as JSON in its tag', () => {
  const tools = [{ ...clock, name: 'say "hi"\\' }]
  expect(constrain({ tools, toolChoice: 'required' })).toMatchObject({
    calls: { tags: [{ begin: String.raw`<tool_call>${'\n'}{"name": "say \"hi\"\\", "arguments": ` }] },
  })
})

describe('harmony', () => {
  const harmony = { toolCalls: 'harmony' } as const
  const thinking = { begin: '<|channel|>analysis<|message|>', end: '<|end|>' }

  it('is unconstrained where the request asks for nothing', () => {
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
        type: 'answer',
        header: '<|start|>assistant<|channel|>final <|constrain|>json<|message|>',
        schema: answer,
      },
    })
  })
})

const anything = { type: 'object' }
const FORCED = {
  tools: ['search', 'world_clock'].map((name) => ({ name, description: null, parameters: anything })),
  toolChoice: 'required',
  outputFormat: { type: 'text' },
} as const

function callsOf(constraint: EngineConstraint | null): CallsShape {
  const output = constraint?.type === 'after-thinking' ? constraint.output : constraint
  if (output === null || !('calls' in output)) throw new Error('no calls in the constraint')
  return output.calls
}

/** Returns the output of an engine that writes each tag once, with these arguments. */
const written = ({ section, tags, separator }: CallsShape, args: string) =>
  (section?.begin ?? '') +
  tags.map(({ begin, end }) => begin + args + end).join(separator) +
  (section?.end ?? '')

describe.for(TOOL_CALL_FORMAT_NAMES)('%s', (format) => {
  const family = { toolCalls: format }
  const readAs = callsFormat(FORCED, format)
  if (readAs === 'none') throw new Error('a format with calls')

  it('constrained calls are read as the calls that they are', () => {
    const output = written(
      callsOf(constrain({ ...FORCED, tools: [...FORCED.tools] }, family)),
      '{"text": "a"}',
    )
    expect(parseWith(readAs, Array.from(output))).toEqual({
      text: '',
      calls: [
        { name: 'search', arguments: '{"text": "a"}' },
        { name: 'world_clock', arguments: '{"text": "a"}' },
      ],
    })
  })

  it('the grammar allows the text that the format writes, or plain JSON', () => {
    const tools = FORCED.tools.slice(0, 1)
    const output = written(callsOf(constrain({ ...FORCED, tools }, family)), '{"text": "a"}')
    const calls = [{ name: 'search', args: { text: 'a' }, json: '{"text": "a"}' }]
    // A grammar for harmony begins after the reasoning, so it includes the header that otherwise the template writes.
    const start = format === 'harmony' ? '<|start|>assistant' : ''
    expect(output).toBe(start + TOOL_CALL_FORMATS[readAs].write(calls))
  })
})

describe('calls of strict tools', () => {
  const tools = FORCED.tools.map((tool) => ({ ...tool, strict: true }))
  const hasTrigger = (format: ToolCallFormatName) =>
    TOOL_CALL_FORMATS[format].constrain?.trigger !== undefined
  const marked = TOOL_CALL_FORMAT_NAMES.filter(hasTrigger)
  const unmarked = TOOL_CALL_FORMAT_NAMES.filter((format) => !hasTrigger(format))

  it.for(marked)('%s: the trigger begins the section, or the call where there is no section', (format) => {
    const constraint = constrain({ tools, toolChoice: 'auto' }, { toolCalls: format })
    if (constraint?.type !== 'text-with-calls') throw new Error('no trigger in the constraint')
    const { section, tags } = constraint.calls
    const begin = section?.begin ?? tags[0]?.begin
    expect(begin?.startsWith(constraint.trigger)).toBe(true)
  })

  it.for(unmarked)('%s: without a trigger there is no constraint', (format) => {
    expect(constrain({ tools, toolChoice: 'auto' }, { toolCalls: format })).toBeNull()
  })
})

it('calls are in the family’s own format unless a grammar applies and the format has none', () => {
  const json = { type: 'json-object' } as const
  const text = { type: 'text' } as const
  expect(callsFormat({ toolChoice: 'auto', outputFormat: text }, 'glm-4.5')).toBe('glm-4.5')
  expect(callsFormat({ toolChoice: 'none', outputFormat: json }, 'glm-4.5')).toBe('glm-4.5')
  expect(callsFormat({ toolChoice: 'auto', outputFormat: json }, 'glm-4.5')).toBe('json')
  expect(callsFormat({ toolChoice: { name: 'f' }, outputFormat: text }, 'qwen3-coder')).toBe('json')
  expect(callsFormat({ toolChoice: 'required', outputFormat: text }, 'pythonic')).toBe('json')
  expect(callsFormat({ toolChoice: 'required', outputFormat: text }, 'kimi-k2')).toBe('kimi-k2')
  expect(callsFormat({ toolChoice: 'required', outputFormat: text }, 'none')).toBe('none')
})

it.each([
  ['auto', true, false],
  ['auto', false, true],
  ['required', true, false],
  ['required', false, true],
  [{ name: 'f' }, true, true],
] as const)(
  'tool choice %j with parallel calls %s: one call alone is %s',
  (toolChoice, parallelToolCalls, one) => {
    expect(allowsOneCall({ toolChoice, parallelToolCalls })).toBe(one)
  },
)
