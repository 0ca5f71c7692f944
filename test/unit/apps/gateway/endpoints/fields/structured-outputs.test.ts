import { describe, expect, it, test } from 'vitest'
import { sizeOf } from '#libs/contracts/request-size.ts'
import { ChatBody } from '#apps/gateway/endpoints/chat-completions/chat-body.ts'
import { toGeneration } from '#apps/gateway/endpoints/chat-completions/to-generation.ts'
import { CompletionBody } from '#apps/gateway/endpoints/completions/completion-body.ts'
import { toGeneration as toCompletion } from '#apps/gateway/endpoints/completions/to-generation.ts'
import { carriesSchema } from '#apps/gateway/endpoints/fields/carries-schema.ts'
import { ResponsesBody } from '#apps/gateway/endpoints/responses/responses-body.ts'
import { toGeneration as toResponse } from '#apps/gateway/endpoints/responses/to-generation.ts'
import { parseBody } from '#apps/gateway/http/parse-body.ts'
import { modelSpec } from '#test/support/model-spec.ts'

type Body = Record<string, unknown>
const model = modelSpec()
const request = (body: Body) =>
  toGeneration(parseBody(ChatBody, { messages: [{ role: 'user', content: 'Hi' }], ...body }), model).request
const formatOf = (body: Body) => request(body).outputFormat

const schema = { type: 'object', properties: { city: { type: 'string' } } }
const GRAMMAR = 'root ::= "yes" | no{1,2} # one\nno ::= [a-z]+ ("!" " "){3}'

const FORMS: [Body, object][] = [
  [{ json: schema }, { type: 'json-schema', schema }],
  [{ json: JSON.stringify(schema) }, { type: 'json-schema', schema }],
  [{ json_object: true, regex: null }, { type: 'json-object' }],
  [{ regex: '"\\w+"\\n' }, { type: 'regex', pattern: '"\\w+"\\n' }],
  [{ choice: ['yes', 'no'] }, { type: 'choice', choices: ['yes', 'no'] }],
  [{ grammar: GRAMMAR }, { type: 'grammar', grammar: GRAMMAR }],
]

test.each(FORMS)('structured_outputs %j constrains the output on every operation', (structured, format) => {
  const body = { structured_outputs: structured }
  expect(formatOf(body)).toEqual(format)
  expect(formatOf({ ...body, response_format: { type: 'text' } })).toEqual(format)
  expect(
    toCompletion(parseBody(CompletionBody, { prompt: 'Hi', ...body }), model).request.outputFormat,
  ).toEqual(format)
  expect(toResponse(parseBody(ResponsesBody, { input: 'Hi', ...body }), model).request.outputFormat).toEqual(
    format,
  )
})

test.each(['json', 'regex', 'choice', 'grammar'])(
  'guided_%s is the same as structured_outputs.%s',
  (name) => {
    for (const [structured, format] of FORMS) {
      const value = structured[name]
      if (value === undefined || value === null) continue
      expect(formatOf({ [`guided_${name}`]: value })).toEqual(format)
      expect(formatOf({ [`guided_${name}`]: value, structured_outputs: structured })).toEqual(format)
    }
  },
)

test.each<[Body, param: string, text: string]>([
  [{ structured_outputs: {}, guided_regex: '(' }, 'guided_regex', 'regular expression'],
  [{ structured_outputs: { structural_tag: '{}' } }, 'structured_outputs.structural_tag', 'not supported'],
  [{ structured_outputs: { whitespace_pattern: ' ' } }, 'structured_outputs.whitespace_pattern', 'none'],
  [
    { structured_outputs: { disable_any_whitespace: true } },
    'structured_outputs.disable_any_whitespace',
    'false',
  ],
  [{ structured_outputs: { lark: 'x' } }, 'structured_outputs.lark', 'no field'],
  [{ structured_outputs: 'x' }, 'structured_outputs', 'an object'],
  [{ structured_outputs: { json: '[1]' } }, 'structured_outputs.json', 'JSON schema'],
  [{ structured_outputs: { json: '{' } }, 'structured_outputs.json', 'JSON schema'],
  [{ structured_outputs: { json: { type: 'nothing' } } }, 'structured_outputs.json', 'wrong schema'],
  [{ structured_outputs: { choice: [] } }, 'structured_outputs.choice', 'array of 1 to'],
  [{ structured_outputs: { choice: ['a', ''] } }, 'structured_outputs.choice[1]', 'not empty'],
  [{ guided_choice: Array(1_001).fill('a') }, 'guided_choice', '1000'],
  [{ guided_regex: '' }, 'guided_regex', 'not empty'],
  [{ guided_regex: '(?<=a)b' }, 'guided_regex', 'look-behinds'],
  [{ guided_regex: '(a{100}){100}' }, 'guided_regex', 'repeat'],
  [{ guided_choice: ['x'.repeat(200_001)] }, 'guided_choice', '200000 characters'],
  [{ guided_grammar: 'start: "a" | "b"' }, 'guided_grammar', 'root ::='],
  [{ guided_grammar: 'top ::= "a"' }, 'guided_grammar', 'rule root'],
  [{ guided_grammar: 'root ::= "a" other' }, 'guided_grammar', 'no rule other'],
  [{ guided_grammar: 'root ::= ("a"' }, 'guided_grammar', ')'],
  [{ guided_grammar: 'root ::= "a")' }, 'guided_grammar', '('],
  [{ guided_grammar: 'root ::= "a' }, 'guided_grammar', 'a string'],
  [{ guided_grammar: 'root ::= "a"{129}' }, 'guided_grammar', '128'],
  [{ guided_grammar: 'root ::= (("a"{100} "b"){100}){100}' }, 'guided_grammar', 'repeat'],
  [{ guided_grammar: `root ::= ${'('.repeat(65)}"a"${')'.repeat(65)}` }, 'guided_grammar', '64 groups'],
  [{ guided_grammar: `root ::= "${'a'.repeat(20_000)}"` }, 'guided_grammar', '20000'],
])('%j is refused by name', (body, param, text) => {
  expect(() => formatOf(body)).toThrow(
    expect.objectContaining({ code: 'invalid_request', param, message: expect.stringContaining(text) }),
  )
})

test.each<[Body, param: string, other: string]>([
  [
    { structured_outputs: { regex: 'a', choice: ['a'] } },
    'structured_outputs.regex',
    'structured_outputs.choice',
  ],
  [{ response_format: { type: 'json_object' }, guided_json: schema }, 'response_format', 'guided_json'],
])('%j contradicts itself', (body, param, other) => {
  expect(() => formatOf(body)).toThrow(
    expect.objectContaining({ param, message: expect.stringContaining(`'${other}' differ`) }),
  )
})

test('all grammars of a request share its limits', () => {
  const half = '(?:ab){128}'.repeat(3)
  expect(() => formatOf({ guided_regex: half })).not.toThrow()
  const tool = {
    type: 'function',
    function: { name: 'f', parameters: { properties: { a: { pattern: half }, b: { pattern: half } } } },
  }
  const body = { guided_regex: half, tools: [tool, tool, tool], tool_choice: 'required' }
  expect(() => formatOf(body)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
})

describe('the price of a grammar', () => {
  it.each([
    { guided_regex: 'a'.repeat(12_000) },
    { guided_choice: Array(12).fill('a'.repeat(1_000)) },
    { guided_grammar: `root ::= "${'a'.repeat(12_000)}"` },
  ])('counts its text, and names a large one', (body) => {
    const size = sizeOf(request(body))
    expect(size.grammarTokens).toBeGreaterThanOrEqual(3_000)
    expect(size.grammar).toMatch(/^[0-9a-f]{64}$/)
    expect(size.promptBytes).toBeLessThan(500)
  })
})

test.each<[Body, boolean]>([
  [{ structured_outputs: { regex: 'a' } }, true],
  [{ guided_regex: 'a' }, true],
  [{ guided_json: schema }, true],
  [{ guided_choice: ['a'] }, true],
  [{ guided_grammar: 'a' }, true],
  [{ guided_regex: null, structured_outputs: null }, false],
])('%j is prepared on a thread: %s', (body, expected) => {
  expect(carriesSchema(body)).toBe(expected)
})

test.each([
  { type: 'json_object', schema },
  { type: 'json_object', json_schema: { name: 'n', schema } },
  { type: 'json_schema', schema },
])('the schema of response_format %j is never ignored', (format) => {
  expect(formatOf({ response_format: format })).toEqual({ type: 'json-schema', schema })
  expect(() => formatOf({ response_format: { ...format, schema: 5, json_schema: null } })).toThrow(
    expect.objectContaining({ param: 'response_format.schema' }),
  )
})

test('json_object with a schema of null is any object', () => {
  expect(formatOf({ response_format: { type: 'json_object', schema: null } })).toEqual({
    type: 'json-object',
  })
})
