import { expect, it } from 'vitest'
import { z } from 'zod'
import { ChatBody } from '#apps/gateway/endpoints/chat-completions/chat-body.ts'
import { CompletionBody } from '#apps/gateway/endpoints/completions/completion-body.ts'
import { EmbeddingBody } from '#apps/gateway/endpoints/embeddings/embedding-body.ts'
import { ResponsesBody } from '#apps/gateway/endpoints/responses/responses-body.ts'
import { isJsonObject } from '#libs/json-schema/json-schema.ts'

const BODIES = {
  chat: ChatBody,
  responses: ResponsesBody,
  completions: CompletionBody,
  embeddings: EmbeddingBody,
}

type Documented = z.core.JSONSchema.BaseSchema
const toSchema = (schema: unknown): Documented => (isJsonObject(schema) ? schema : {})

/** Returns the path and the schema of each string in a body. */
function* stringsOf(schema: Documented, path: string): Generator<[string, Documented]> {
  for (const one of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) yield* stringsOf(toSchema(one), path)
  if ([schema.type].flat().includes('string')) yield [path, schema]
  if (schema.items !== undefined) yield* stringsOf(toSchema(schema.items), `${path}[]`)
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    yield* stringsOf(toSchema(property), `${path}.${name}`)
  }
  if (schema.propertyNames !== undefined) yield* stringsOf(toSchema(schema.propertyNames), `${path}{key}`)
  if (schema.additionalProperties) yield* stringsOf(toSchema(schema.additionalProperties), `${path}{value}`)
}

const isBounded = ({ const: fixed, enum: options, maxLength, pattern }: Documented) =>
  fixed !== undefined ||
  options !== undefined ||
  (maxLength !== undefined && maxLength <= 1_024) ||
  // The pattern is anchored and has no unlimited repetitions.
  (pattern !== undefined && !/[*+]|,\}/.test(pattern))

const STRUCTURED = [
  'guided_choice[]',
  'guided_grammar',
  'guided_json',
  'guided_json{key}',
  'guided_regex',
  'structured_outputs.choice[]',
  'structured_outputs.grammar',
  'structured_outputs.json',
  'structured_outputs.json{key}',
  'structured_outputs.regex',
]

/** The texts and the keys of a format. */
const TEXT_FORMAT =
  'choice[] choices[] grammar pattern regex regex.regex schema value json_schema.schema{key} schema{key}'.split(
    ' ',
  )

/** Strings of any length, which count towards the request's size. All other strings have a maximum length. */
const COUNTED = [
  ...['chat', 'completions', 'responses'].flatMap((body) => STRUCTURED.map((field) => `${body}.${field}`)),
  ...['chat', 'completions', 'responses'].flatMap((body) =>
    ['response_format', 'text.format', 'output_config.format', 'output_format'].flatMap((format) =>
      TEXT_FORMAT.map((field) => `${body}.${format}.${field}`),
    ),
  ),
  'chat.messages[].content',
  'chat.messages[].content[].refusal',
  'chat.messages[].content[].text',
  'chat.messages[].reasoning',
  'chat.messages[].reasoning_content',
  'chat.messages[].refusal',
  'chat.messages[].tool_calls[].custom.input',
  'chat.messages[].tool_calls[].function.arguments',
  'chat.tools[].description',
  'chat.tools[].function.description',
  'chat.tools[].function.parameters{key}',
  'chat.tools[].parameters{key}',
  'completions.prompt',
  'completions.prompt[]',
  'embeddings.input',
  'embeddings.input[]',
  'responses.input',
  'responses.input[].action{key}',
  'responses.input[].arguments',
  'responses.input[].arguments{key}',
  'responses.input[].encrypted_content',
  'responses.input[].operation{key}',
  'responses.input[].code',
  'responses.input[].content',
  'responses.input[].content[].refusal',
  'responses.input[].content[].text',
  'responses.input[].input',
  'responses.input[].output',
  'responses.input[].output[].refusal',
  'responses.input[].output[].text',
  'responses.input[].summary[].text',
  'responses.input[].tools[].description',
  'responses.input[].tools[].function.description',
  'responses.input[].tools[].function.parameters{key}',
  'responses.input[].tools[].parameters{key}',
  'responses.instructions',
  'responses.tools[].description',
  'responses.tools[].function.description',
  'responses.tools[].function.parameters{key}',
  'responses.tools[].parameters{key}',
].toSorted()

it('every string of every body has a maximum, or is text of the request, whose size counts it', () => {
  const strings = Object.entries(BODIES).flatMap(([name, body]) => [
    ...stringsOf(toSchema(z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' })), name),
  ])
  expect(strings.map(([path]) => path)).toContain('chat.messages[].tool_call_id')
  const unbounded = strings.flatMap(([path, schema]) => (isBounded(schema) ? [] : [path]))
  expect([...new Set(unbounded)].toSorted()).toEqual(COUNTED)
})

const LONG = 'x'.repeat(257)

it.each([
  ['chat', 'messages.0.tool_call_id', { messages: [{ role: 'tool', tool_call_id: LONG, content: '' }] }],
  [
    'chat',
    'messages.0.tool_calls.0.id',
    { messages: [{ role: 'assistant', tool_calls: [{ id: LONG, function: { name: 'f' } }] }] },
  ],
  [
    'chat',
    'messages.0.tool_calls.0.function.name',
    { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', function: { name: LONG } }] }] },
  ],
  ['responses', 'input.0.call_id', { input: [{ type: 'function_call_output', call_id: LONG, output: '' }] }],
  ['responses', 'input.0.call_id', { input: [{ type: 'function_call', call_id: LONG, name: 'f' }] }],
  ['responses', 'input.0.name', { input: [{ type: 'function_call', call_id: 'a', name: LONG }] }],
  ['responses', 'input.0.id', { input: [{ type: 'item_reference', id: LONG }] }],
  [
    'chat',
    'tools.0.name',
    { messages: [{ role: 'user', content: '' }], tools: [{ type: 'function', name: LONG }] },
  ],
  ['chat', 'tools.0.type', { messages: [{ role: 'user', content: '' }], tools: [{ type: LONG }] }],
  [
    'chat',
    'response_format.name',
    {
      messages: [{ role: 'user', content: '' }],
      response_format: { type: 'json_schema', schema: {}, name: LONG },
    },
  ],
] as const)('in a body of %s, %s has at most 256 characters', (body, path, value) => {
  const { error } = BODIES[body].safeParse(value)
  expect(error?.issues[0]).toMatchObject({
    path: path.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step)),
    message: 'expected at most 256 characters',
  })
  expect(
    BODIES[body].safeParse(JSON.parse(JSON.stringify(value).replaceAll(LONG, LONG.slice(1)))).success,
  ).toBe(true)
})
