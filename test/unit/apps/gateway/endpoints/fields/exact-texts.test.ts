import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chatCompletions } from '#apps/gateway/endpoints/chat-completions/endpoint.ts'
import { messages } from '#apps/gateway/endpoints/messages/endpoint.ts'
import type { Prepare, Prepared } from '#apps/gateway/endpoints/prepare-request.ts'
import { prepareBody } from '#apps/gateway/endpoints/prepare-request.ts'
import { responses } from '#apps/gateway/endpoints/responses/endpoint.ts'
import { toObject as toResponse } from '#apps/gateway/endpoints/responses/to-object.ts'
import { createChatRenderer } from '#libs/chat-template/chat-renderer.ts'
import { GenerationRequest, type ChatRequest } from '#libs/contracts/generation-request.ts'
import { constrainOutput } from '#libs/dialect/constrain-output.ts'
import { createAnswer } from '#test/support/answer.ts'
import { modelSpec } from '#test/support/model-spec.ts'
import { PYTHON_NUMBERS } from '#test/support/python-numbers.ts'

const usage = { promptTokens: 5, cachedTokens: 0, completionTokens: 1, reasoningTokens: 0 }
const model = modelSpec({ id: 'demo', tools: true })
const chat = chatCompletions.prepare

/** Returns the request that a worker gets for a body's text, after it has passed a thread and Redis. */
function requestOf(json: string, prepare: Prepare<Prepared> = chat): ChatRequest {
  const { request } = structuredClone(prepareBody(prepare, Buffer.from(json), { find: () => model }))
  const read = GenerationRequest.parse(JSON.parse(JSON.stringify(request)))
  if (read.kind !== 'chat') throw new Error('the request is no chat')
  return read
}

const withTool = (schema: string, more = '') =>
  `{"model":"demo","messages":[{"role":"user","content":"Hi"}],"temperature":1.0,` +
  `"tools":[{"type":"web_search"},{"type":"function","function":{"name":"f","parameters":${schema}}}]${more}}`

const renderer = createChatRenderer({
  source: '{{ tools[0].function.parameters | tojson }}',
  specialTokens: {},
  addedTokens: [],
})
const promptOf = ({ messages, tools }: ChatRequest) =>
  renderer.render({ messages, tools, switches: {} }).join('')

const grammarOf = (request: ChatRequest) => JSON.stringify(constrainOutput(request, { toolCalls: 'hermes' }))

const SCHEMA =
  '{"type": "object", "properties": {"b": {"enum": [9007199254740993]}, "2": {"const": 1e5},' +
  ' "c": {"type": "number", "minimum": 1.0, "default": 1.0},' +
  ' "1": {"type": "integer", "maximum": 9223372036854775807}}, "required": ["b"]}'

describe('a schema with numbers that JavaScript would write otherwise', () => {
  it('is in the prompt as Python prints it', () => {
    expect(promptOf(requestOf(withTool(SCHEMA)))).toBe(SCHEMA.replace('1e5', '100000.0'))
  })

  it('is in the grammar of calls with the caller’s numbers', () => {
    const grammar = grammarOf(requestOf(withTool(SCHEMA, ',"tool_choice":"required"')))
    for (const part of [
      '[9007199254740993]',
      '"minimum":1.0',
      '"const":1e5',
      '"maximum":9223372036854775807',
    ]) {
      expect(grammar).toContain(part)
    }
  })

  const format = `{"type":"json_schema","json_schema":{"name":"n","schema":${SCHEMA}}}`
  const flat = `{"type":"json_schema","name":"n","schema":${SCHEMA}}`
  const head = '{"model":"demo","messages":[{"role":"user","content":"Hi"}]'
  const input = '{"model":"demo","input":"Hi"'

  it.each<[string, Prepare<Prepared>]>([
    [`${head},"response_format":${format}}`, chat],
    [`${head},"response_format":${flat}}`, chat],
    [`${head},"response_format":{"type":"json_object","schema":${SCHEMA}}}`, chat],
    [`${head},"structured_outputs":{"json":${SCHEMA}}}`, chat],
    [`${head},"structured_outputs":{"json":${JSON.stringify(SCHEMA)}}}`, chat],
    [`${head},"guided_json":${SCHEMA}}`, chat],
    [`${head},"guided_json":${JSON.stringify(SCHEMA)}}`, chat],
    [`${input},"text":{"format":${flat}}}`, responses.prepare],
    [`${input},"text":{"format":${format}}}`, responses.prepare],
    [`${input},"response_format":${format},"text":{"format":${flat}}}`, responses.prepare],
    [`${head},"max_tokens":9,"output_format":${flat}}`, messages.prepare],
    [`${head},"output_config":{"format":${flat}}}`, chat],
    [
      `${input},"tools":[{"type":"function","name":"f","parameters":${SCHEMA}}],"tool_choice":"required"}`,
      responses.prepare,
    ],
    [
      `${input},"tools":[{"type":"function","name":"f","strict":true,"parameters":${SCHEMA}}]}`,
      responses.prepare,
    ],
  ])('wherever a body has it: %#', (json, prepare) => {
    expect(grammarOf(requestOf(json, prepare))).toContain('[9007199254740993]')
  })

  it('counts all of its digits', () => {
    const sizeFor = (digits: number) =>
      prepareBody(chat, Buffer.from(withTool(`{"default":${'1'.repeat(digits)}}`)), { find: () => model })
        .size
    expect(sizeFor(900).promptBytes - sizeFor(100).promptBytes).toBe(800)
  })
})

const NUMBERS = '{"b": 9007199254740993, "2": 1.0,\n "1": 1e5}'
const call = `{"type":"function_call","call_id":"c","name":"f","arguments":${JSON.stringify(NUMBERS)}}`

it.each<[string, Prepare<Prepared>, string]>([
  [
    `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":${NUMBERS}}]},{"role":"user","content":"Go on"}],"max_tokens":9`,
    messages.prepare,
    NUMBERS,
  ],
  [
    `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":[]}]},{"role":"user","content":"Go on"}],"max_tokens":9`,
    messages.prepare,
    '{}',
  ],
  [`"input":["Hi",${call}]`.replace('"Hi"', '{"role":"user","content":"Hi"}'), responses.prepare, NUMBERS],
  ...['local_shell_call', 'shell_call'].map((type): [string, Prepare<Prepared>, string] => [
    `"input":[{"type":"${type}","call_id":"c","action":${NUMBERS}}]`,
    responses.prepare,
    NUMBERS,
  ]),
  [`"input":[{"type":"apply_patch_call","call_id":"c","operation":${NUMBERS}}]`, responses.prepare, NUMBERS],
  [
    `"input":[{"type":"file_search_call","queries":[1.0],"results":[${NUMBERS}]}]`,
    responses.prepare,
    '{"queries":[1.0]}',
  ],
])('the arguments of a call in a history are as the caller wrote them: %#', (fields, prepare, expected) => {
  const { messages: said } = requestOf(`{"model":"demo",${fields}}`, prepare)
  const calls = said.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []))
  expect(calls).toMatchObject([{ arguments: expected }])
})

it.each(['shell_call_output', 'file_search_call', 'code_interpreter_call'])(
  'the result of a %s is as the caller wrote it',
  (type) => {
    const list = `[${NUMBERS}]`
    const item = `{"type":"${type}","call_id":"c","output":${list},"outputs":${list},"results":${list}}`
    expect(requestOf(`{"model":"demo","input":[${item}]}`, responses.prepare).messages.at(-1)?.content).toBe(
      list,
    )
  },
)

describe('an answer repeats the caller’s and the model’s numbers', () => {
  const generation = {
    parts: [{ type: 'tool-call' as const, call: { id: 'c', name: 'f', arguments: NUMBERS } }],
  }
  const finished = {
    ...generation,
    reasoning: '',
    text: '',
    toolCalls: [],
    finishReason: 'tool-calls' as const,
    usage,
  }

  it('on Responses, in its tools and its format, whole and streamed', () => {
    const schema = `{"enum":[9007199254740993],\n"minimum":1.0,"2":0,"1":"\u2028"}`
    const body = `{"model":"demo","input":"Hi","tools":[{"type":"function","name":"f","parameters":${schema}}],"text":{"format":{"type":"json_schema","name":"n","schema":{"const":1.0}}}}`
    const { options } = prepareBody(responses.prepare, Buffer.from(body), { find: () => model })
    const answer = createAnswer({ id: 'x', model: 'demo', options })
    const events = responses
      .renderStream(answer)
      .render([{ type: 'generation-end', finishReason: 'stop', usage }])
    for (const text of [
      toResponse(finished, answer),
      ...events
        .trim()
        .split('\n\n')
        .filter((event) => event.includes('"tools"')),
    ]) {
      expect(text).toContain(
        String.raw`"parameters":{"enum":[9007199254740993], "minimum":1.0,"2":0,"1":"\u2028"}`,
      )
      expect(text).toContain('"schema":{"const":1.0}')
      expect(text).not.toContain('\n"')
    }
  })

  it('on Messages, in the input of a call', () => {
    const answer = createAnswer({ id: 'x', model: 'demo', options: null })
    expect(messages.renderWhole(finished, answer)).toContain(`"input":${NUMBERS}}`)
  })
})

it('PHP’s empty lists are empty objects in a schema, also beside such numbers', () => {
  const php =
    '{"type": "object", "properties": [], "$defs": {"a": {"properties" : [ ], "const": 1.0}}, "enum": []}'
  const request = requestOf(withTool(php))
  expect(promptOf(request)).toBe(
    '{"type": "object", "properties": {}, "$defs": {"a": {"properties": {}, "const": 1.0}}, "enum": []}',
  )
  expect(request.tools[0]?.parameters).toMatchObject({ properties: {}, enum: [] })
  expect(promptOf(requestOf(withTool('[]')))).toBe('{}')
})

it('a schema without such numbers travels without its text', () => {
  const request = requestOf(withTool('{"type":"object","properties":{"a":{"type":"integer","minimum":1}}}'))
  expect(request.tools).toEqual([expect.not.objectContaining({ parametersText: expect.anything() })])
})

/** A JSON text, and the text that Python prints for its value. */
type Written = { readonly json: string; readonly python: string }

const scalar = fc.oneof(
  fc.constantFrom(...PYTHON_NUMBERS).map(([json, python]) => ({ json, python })),
  fc.constantFrom('true', 'false', 'null', '"a 1.0, \\"2\\": 1e5"').map((json) => ({ json, python: json })),
)

const name = fc.oneof(fc.stringMatching(/^[a-z]{1,4}$/), fc.stringMatching(/^(0|[1-9]\d?)$/))

const joined = (open: string, parts: readonly Written[], close: string): Written => ({
  json: open + parts.map(({ json }) => json).join(',') + close,
  python: open + parts.map(({ python }) => python).join(', ') + close,
})

const { value } = fc.letrec<{ value: Written; list: Written; object: Written }>((tie) => ({
  value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, scalar, tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 4 }).map((items) => joined('[', items, ']')),
  object: fc
    .uniqueArray(fc.tuple(name, tie('value')), { maxLength: 4, selector: ([key]) => key })
    .map((members) =>
      joined(
        '{',
        members.map(([key, { json, python }]) => ({
          json: `"${key}" :${json}`,
          python: `"${key}": ${python}`,
        })),
        '}',
      ),
    ),
}))

it('any schema is in the prompt as Python prints it: numbers, strings, and names in the caller’s order', () => {
  fc.assert(
    fc.property(value, ({ json, python }) => {
      const schema = `{"type":"object","default":${json}}`
      expect(promptOf(requestOf(withTool(schema)))).toBe(`{"type": "object", "default": ${python}}`)
    }),
  )
})
