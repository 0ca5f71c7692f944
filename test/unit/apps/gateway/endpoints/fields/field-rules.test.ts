import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { CHAT_FIELDS } from '#apps/gateway/endpoints/chat-completions/chat-body.ts'
import { chatCompletions } from '#apps/gateway/endpoints/chat-completions/endpoint.ts'
import { COMPLETION_FIELDS } from '#apps/gateway/endpoints/completions/completion-body.ts'
import { completions } from '#apps/gateway/endpoints/completions/endpoint.ts'
import { hint, type FieldTable } from '#apps/gateway/endpoints/fields/field-rules.ts'
import { EFFORT_FIELDS } from '#apps/gateway/endpoints/fields/reasoning-switches.ts'
import { messages } from '#apps/gateway/endpoints/messages/endpoint.ts'
import { MESSAGE_FIELDS } from '#apps/gateway/endpoints/messages/messages-body.ts'
import type { Prepare, Prepared } from '#apps/gateway/endpoints/prepare-request.ts'
import { responses } from '#apps/gateway/endpoints/responses/endpoint.ts'
import { RESPONSES_FIELDS } from '#apps/gateway/endpoints/responses/responses-body.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { JsonObject } from '#libs/json-schema/json-schema.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const model = modelSpec({ id: 'demo', tools: true, reasoning: true, defaultEffort: 'low' })
const said = [{ role: 'user', content: 'Hi' }]

type Operation = { table: FieldTable; prepare: Prepare<Prepared>; body: JsonObject }

/** The operations that generate text, by the headings of the table in `docs/api.md`. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  Chat: { table: CHAT_FIELDS, prepare: chatCompletions.prepare, body: { messages: said } },
  Responses: { table: RESPONSES_FIELDS, prepare: responses.prepare, body: { input: 'Hi' } },
  Messages: { table: MESSAGE_FIELDS, prepare: messages.prepare, body: { messages: said, max_tokens: 9 } },
  Completions: { table: COMPLETION_FIELDS, prepare: completions.prepare, body: { prompt: 'Hi' } },
}
const operations = Object.entries(OPERATIONS)
/** Returns the prepared request, or the field that an `ApiError` names. */
function outcomeOf({ prepare, body }: Operation, more: JsonObject): Prepared | string | undefined {
  try {
    return prepare({ model: 'demo', ...body, ...more }, { find: () => model })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return error.param
  }
}

const JSON_OBJECT = { type: 'json_object' }
const FUNCTION = { type: 'function', name: 'f', parameters: { type: 'object' } }

/** Values that change the answer, of fields that an operation reads or that a known service has. */
const SAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  add_special_tokens: [true],
  best_of: [2],
  chat_template_kwargs: [{ thinking: false }, { enable_thinking: false }],
  echo: [true],
  effort: ['high'],
  enable_thinking: [false],
  format: ['json', { type: 'object' }],
  frequency_penalty: [1],
  guided_choice: [['a']],
  guided_grammar: ['root ::= "a"'],
  guided_json: [{ type: 'object' }, '{"type":"object"}'],
  guided_regex: ['a'],
  ignore_eos: [true],
  include: [['message.output_text.logprobs'], ['reasoning.encrypted_content']],
  include_reasoning: [false],
  input: ['x'],
  instructions: ['x'],
  json_schema: [{ type: 'object' }],
  logit_bias: [{ '7': 1 }],
  logprobs: [true, 2],
  max_completion_tokens: [7],
  max_output_tokens: [7],
  max_new_tokens: [7],
  max_tokens: [7],
  max_tokens_to_sample: [7],
  messages: [[{ role: 'user', content: 'x' }]],
  metadata: [{ a: 'b' }],
  min_p: [0.5],
  min_tokens: [2],
  n: [2],
  num_predict: [7],
  output_config: [{ format: JSON_OBJECT }, { effort: 'max' }],
  output_format: [JSON_OBJECT],
  parallel_tool_calls: [false],
  presence_penalty: [1],
  prompt: ['x'],
  prompt_cache_key: ['k'],
  reasoning: [{ effort: 'high' }, { enabled: false }],
  reasoning_effort: ['high', 'off'],
  repetition_penalty: [1.5],
  return_tokens_as_token_ids: [true],
  response_format: [JSON_OBJECT],
  safety_identifier: ['x'],
  seed: [3],
  stop: ['x', ['x']],
  stop_sequences: [['x']],
  stream: [true],
  stream_options: [{ include_usage: true }],
  structured_outputs: [{ json_object: true }, { regex: 'a' }],
  system: ['x'],
  temperature: [0.5],
  text: [{ format: JSON_OBJECT }],
  think: [true],
  thinking: [{ type: 'disabled' }],
  thinking_budget: [9],
  thinking_token_budget: [9],
  tool_choice: [{ type: 'function', name: 'f' }, 'required', { type: 'any' }, { type: 'tool', name: 'f' }],
  tools: [
    [FUNCTION],
    [{ type: 'function', function: { name: 'f' } }],
    [{ name: 'f', input_schema: {} }],
    [{ type: 'custom', name: 'f', input_schema: {} }],
  ],
  top_k: [3],
  top_logprobs: [2],
  top_p: [0.5],
  user: ['x'],
}

const known = [
  ...new Set([
    ...Object.keys(SAMPLES),
    ...operations.flatMap(([, { table }]) => [...Object.keys(table.shape), ...Object.keys(table.rules)]),
  ]),
].toSorted()

/** Values that no rule takes for a value without effect. */
const UNLIKELY = ['\u0000', { unlikely: [1] }, -99.5]

/** Fields that are read and change nothing, because of what the interface says. */
const WITHOUT_EFFECT: Readonly<Record<string, readonly string[]>> = {
  // Reasoning is always off.
  Completions: Object.keys(EFFORT_FIELDS).concat('output_config'),
  // Like OpenAI's, a `top_logprobs` that stands alone.
  Responses: ['top_logprobs'],
}

describe.each(operations)('on %s', (name, operation) => {
  const usual = outcomeOf(operation, {})
  const given = known.filter(
    (field) => operation.table.rules[field] !== hint && WITHOUT_EFFECT[name]?.includes(field) !== true,
  )

  it.each(given)('%s changes the answer, or is refused by name', (field) => {
    const isRead = Object.hasOwn(operation.table.shape, field)
    const samples = SAMPLES[field] ?? (isRead ? [] : UNLIKELY)
    expect(samples).not.toEqual([])
    const dropped = samples.filter((sample) => {
      const outcome = outcomeOf(operation, { [field]: sample })
      if (typeof outcome === 'object') return isDeepStrictEqual(outcome, usual)
      return outcome === undefined || outcome.split(/[.[]/)[0] !== field
    })
    expect(dropped).toEqual([])
  })

  it('accepts null, values without an effect, and unknown fields', () => {
    const nulls = known.filter((field) => !Object.hasOwn(operation.body, field)).map((field) => [field, null])
    const more = { ...Object.fromEntries(nulls), x_unknown: { a: 1 }, constructor: 'x', prediction: {}, n: 1 }
    expect(outcomeOf(operation, more)).toEqual(usual)
  })

  it('reads PHP’s empty list as an empty object', () => {
    const php = {
      logit_bias: [],
      function_call: '',
      functions: [],
      text: [],
      stream_options: [],
      provider: [],
    }
    expect(outcomeOf(operation, php)).toMatchObject({ request: { sampling: { logitBias: {} } } })
  })
})

it('docs/api.md has the table of fields', () => {
  const cellOf = ({ shape, rules }: FieldTable, field: string) => {
    if (Object.hasOwn(shape, field)) return 'read'
    const rule = rules[field]
    return rule === undefined || rule === hint ? 'ignored' : 'refused'
  }
  const rows = new Map<string, string[]>()
  for (const field of known) {
    const cells = operations.map(([, { table }]) => cellOf(table, field)).join(' | ')
    rows.set(cells, [...(rows.get(cells) ?? []), `\`${field}\``])
  }
  const written = [...rows].map(([cells, fields]) => `| ${fields.join(', ')} | ${cells} |`).toSorted()
  const head = `| Fields | ${Object.keys(OPERATIONS).join(' | ')} |\n| --- | --- | --- | --- | --- |\n`
  const docs = readFileSync(new URL('../../../../../../docs/api.md', import.meta.url), 'utf8')
  const [table] = /\| Fields \| Chat[^]*?\n(?=\n)/.exec(docs) ?? []
  expect(table).toBe(`${head}${written.join('\n')}\n`)
})
