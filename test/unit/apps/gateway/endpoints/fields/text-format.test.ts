import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it, test } from 'vitest'
import { chatCompletions } from '#apps/gateway/endpoints/chat-completions/endpoint.ts'
import { completions } from '#apps/gateway/endpoints/completions/endpoint.ts'
import { carriesSchema } from '#apps/gateway/endpoints/fields/carries-schema.ts'
import { ResponseFormat } from '#apps/gateway/endpoints/fields/output-format.ts'
import { messages } from '#apps/gateway/endpoints/messages/endpoint.ts'
import { prepareBody, type Prepare, type Prepared } from '#apps/gateway/endpoints/prepare-request.ts'
import { responses } from '#apps/gateway/endpoints/responses/endpoint.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import { modelSpec } from '#test/support/model-spec.ts'

type Body = Record<string, unknown>
const model = modelSpec({ id: 'demo', tools: true })

const CONVERSATION = [{ role: 'user', content: 'Hi' }]

/** The place of a format in each operation, with the fields that the operation requires. */
const PLACES: Record<string, [Prepare<Prepared>, place: string, (format: unknown) => Body]> = {
  chat: [
    chatCompletions.prepare,
    'response_format',
    (format) => ({ messages: CONVERSATION, response_format: format }),
  ],
  completions: [
    completions.prepare,
    'response_format',
    (format) => ({ prompt: 'Hi', response_format: format }),
  ],
  responses: [responses.prepare, 'text.format', (format) => ({ input: 'Hi', text: { format } })],
  'responses in the field of chat': [
    responses.prepare,
    'response_format',
    (format) => ({ input: 'Hi', response_format: format }),
  ],
  messages: [
    messages.prepare,
    'output_config.format',
    (format) => ({ messages: CONVERSATION, max_tokens: 9, output_config: { format } }),
  ],
}

const prepare = (body: Body, operation: Prepare<Prepared> = chatCompletions.prepare) =>
  prepareBody(operation, Buffer.from(JSON.stringify({ model: 'demo', ...body })), { find: () => model })
const withFormat = (format: unknown, more: Body = {}) => ({
  messages: CONVERSATION,
  response_format: format,
  ...more,
})

const REFUSED = (param: string, ...texts: string[]) =>
  expect.objectContaining({
    code: 'invalid_request',
    param,
    message: expect.stringMatching(texts.map((text) => RegExp.escape(text)).join('.*')),
  })

const PATTERN = String.raw`\d{3}-[a-z]+`
const GRAMMAR = 'root ::= "yes" | "no"'

const FORMS: [format: Body, vllm: Body][] = [
  [{ type: 'regex', regex: PATTERN }, { regex: PATTERN }],
  [{ type: 'regex', regex: { regex: PATTERN } }, { regex: PATTERN }],
  [{ type: 'regex', pattern: PATTERN }, { regex: PATTERN }],
  [{ type: 'regex', value: PATTERN }, { regex: PATTERN }],
  [{ type: 'regex', schema: PATTERN }, { regex: PATTERN }],
  [{ type: 'regex', regex: PATTERN, pattern: PATTERN, json_schema: null }, { regex: PATTERN }],
  [{ type: 'choice', choice: ['red', 'green'] }, { choice: ['red', 'green'] }],
  [{ type: 'choice', choices: ['red', 'green'] }, { choice: ['red', 'green'] }],
  [{ type: 'choice', choices: ['red'], choice: ['red'] }, { choice: ['red'] }],
  [{ type: 'grammar', grammar: GRAMMAR }, { grammar: GRAMMAR }],
  [{ type: 'grammar', grammar: GRAMMAR, regex: null }, { grammar: GRAMMAR }],
]

describe.each(Object.entries(PLACES))('in %s', (_operation, [operation, place, toBody]) => {
  it.each(FORMS)('%j is the constraint %j of structured_outputs', (format, structured) => {
    const wanted = prepare({ messages: CONVERSATION, structured_outputs: structured }).request
    expect(prepare(toBody(format), operation).request).toMatchObject({
      outputFormat: wanted.kind === 'chat' ? wanted.outputFormat : null,
    })
  })

  it('a wrong constraint is refused with its place', () => {
    expect(() => prepare(toBody({ type: 'regex', pattern: '(' }), operation)).toThrow(
      REFUSED(`${place}.pattern`, 'regular expression'),
    )
    expect(() => prepare(toBody({ type: 'choice', choices: ['a', ''] }), operation)).toThrow(
      REFUSED(`${place}.choices[1]`, 'not empty'),
    )
  })
})

it.each(FORMS)(
  '%j costs as much as %j in structured_outputs, and is prepared on a thread',
  (format, structured) => {
    const body = withFormat(format)
    expect(prepare(body).size).toEqual(
      prepare({ messages: CONVERSATION, structured_outputs: structured }).size,
    )
    expect(carriesSchema(body)).toBe(true)
  },
)

it('a long constraint is reserved as input', () => {
  const { size } = prepare(withFormat({ type: 'regex', pattern: 'a'.repeat(12_000) }))
  expect(size.grammarTokens).toBeGreaterThanOrEqual(3_000)
})

it.each(FORMS)('the description of the interface allows %j', (format) => {
  const validate = new Ajv2020({ strict: false }).compile(documentedAs(ResponseFormat))
  expect(validate(format)).toBe(true)
  expect(validate({ type: format['type'] })).toBe(false)
})

test.each<[format: unknown, param: string, text: string]>([
  ['regex', '', 'one of text, json_object, json_schema, regex, choice, grammar'],
  [{ type: 'ebnf', ebnf: GRAMMAR }, '.type', 'one of text, json_object, json_schema, regex, choice, grammar'],
  [{ type: 'toString' }, '.type', 'one of text'],
  // An absent constraint.
  [{ type: 'regex' }, '.regex', 'expected a regex'],
  [{ type: 'choice', choice: null }, '.choice', 'expected a choice'],
  [{ type: 'grammar' }, '.grammar', 'expected a grammar'],
  // A constraint of another type of value.
  [{ type: 'regex', regex: 5 }, '.regex', 'text that is not empty, or an object'],
  [{ type: 'regex', regex: {} }, '.regex', 'text that is not empty, or an object'],
  [{ type: 'regex', regex: { regex: PATTERN, flags: 'i' } }, '.regex', 'or an object'],
  [{ type: 'regex', regex: '' }, '.regex', 'not empty'],
  [{ type: 'regex', regex: { regex: '' } }, '.regex', 'not empty'],
  [{ type: 'regex', pattern: ['a'] }, '.pattern', 'expected text'],
  [{ type: 'regex', value: 1 }, '.value', 'expected text'],
  [{ type: 'regex', schema: { type: 'object' } }, '.schema', 'expected text'],
  [{ type: 'choice', choices: 'a' }, '.choices', 'array of 1 to 1000'],
  [{ type: 'choice', choice: [5] }, '.choice[0]', 'array of 1 to 1000'],
  [{ type: 'grammar', grammar: ['root'] }, '.grammar', 'expected text'],
  // A constraint beside another one, or beside a field that might change its meaning.
  [{ type: 'regex', regex: 'a', pattern: 'b' }, '.pattern', 'the same value as in regex'],
  [{ type: 'regex', pattern: 'b', regex: { regex: 'a' } }, '.regex', 'the same value as in pattern'],
  [{ type: 'choice', choice: ['a'], choices: ['b'] }, '.choices', 'the same value as in choice'],
  [{ type: 'regex', regex: 'a', grammar: GRAMMAR }, '.grammar', 'no field of this name'],
  [{ type: 'choice', choice: ['a'], enum: ['a'] }, '.enum', 'no field of this name'],
  [{ type: 'grammar', syntax: 'lark', definition: 'x' }, '.syntax', 'no field of this name'],
  [{ type: 'grammar', value: GRAMMAR }, '.value', 'no field of this name'],
  [{ type: 'choice', toString: ['a'] }, '.toString', 'no field of this name'],
  // The bounds of vLLM's fields.
  [{ type: 'choice', choice: [] }, '.choice', 'array of 1 to 1000'],
  [{ type: 'choice', choices: Array(1_001).fill('a') }, '.choices', 'array of 1 to 1000'],
  [{ type: 'choice', choices: ['x'.repeat(200_001)] }, '.choices', '200000 characters'],
  [{ type: 'regex', value: 'a'.repeat(200_001) }, '.value', '200000 characters'],
  [{ type: 'regex', schema: '(?<=a)b' }, '.schema', 'look-behinds'],
  [{ type: 'regex', regex: { regex: '(a{100}){100}' } }, '.regex', 'repeat'],
  [{ type: 'grammar', grammar: 'top ::= "a"' }, '.grammar', 'rule root'],
  [{ type: 'grammar', grammar: `root ::= "${'a'.repeat(20_000)}"` }, '.grammar', '20000'],
])('response_format %j is refused with its place', (format, param, text) => {
  expect(() => prepare(withFormat(format))).toThrow(REFUSED(`response_format${param}`, text))
})

describe('beside another format', () => {
  it.each<[Body]>([[{ guided_regex: PATTERN }], [{ structured_outputs: { regex: PATTERN } }]])(
    'the same constraint in %j is allowed',
    (more) => {
      const { request } = prepare(withFormat({ type: 'regex', pattern: PATTERN }, more))
      expect(request).toMatchObject({ outputFormat: { type: 'regex', pattern: PATTERN } })
    },
  )

  it.each<[Body, other: string]>([
    [{ guided_regex: 'b' }, 'guided_regex'],
    [{ structured_outputs: { choice: ['a'] } }, 'structured_outputs.choice'],
  ])('another constraint in %j is refused with both places', (more, other) => {
    expect(() => prepare(withFormat({ type: 'regex', pattern: PATTERN }, more))).toThrow(
      REFUSED('response_format.pattern', `'response_format.pattern' and '${other}' differ`),
    )
  })

  it('both fields of Responses are compared by the constraint, whatever its field is called', () => {
    const body = (other: string) => ({
      input: 'Hi',
      text: { format: { type: 'regex', pattern: PATTERN } },
      response_format: { type: 'regex', value: other },
    })
    expect(prepare(body(PATTERN), responses.prepare).request).toMatchObject({
      outputFormat: { type: 'regex', pattern: PATTERN },
    })
    expect(() => prepare(body('b'), responses.prepare)).toThrow(
      REFUSED('text.format.pattern', 'response_format.value'),
    )
  })
})

it('shares the limits with the other grammars of the request', () => {
  const half = '(?:ab){128}'.repeat(3)
  const tool = {
    type: 'function',
    function: { name: 'f', parameters: { properties: { a: { pattern: half }, b: { pattern: half } } } },
  }
  const format = { type: 'regex', pattern: half }
  expect(() => prepare(withFormat(format))).not.toThrow()
  expect(() => prepare(withFormat(format, { tools: [tool, tool, tool], tool_choice: 'required' }))).toThrow(
    expect.objectContaining({ code: 'invalid_request' }),
  )
})

it('does not combine with a least output', () => {
  expect(() => prepare(withFormat({ type: 'choice', choices: ['a'] }, { min_tokens: 1 }))).toThrow(
    REFUSED('min_tokens', 'without a grammar'),
  )
})
