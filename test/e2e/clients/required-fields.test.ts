import { expect } from 'vitest'
import { test, type ClientAccess } from '../../support/client-test.ts'

/**
 * The fields that OpenAI's schema requires and that must not be null. The keys are the object's `object` or `type`, or
 * its place. Clients with a validator, such as OpenAI's for Java, reject an answer without one of these fields.
 */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  'chat.completion': ['id', 'choices', 'created', 'model', 'object'],
  'chat.completion.chunk': ['id', 'choices', 'created', 'model', 'object'],
  'chat.completion/choices': ['finish_reason', 'index', 'message'],
  'chat.completion/choices/message': ['role'],
  'chat.completion.chunk/choices': ['delta', 'index'],
  'chat.completion.chunk/choices/delta/tool_calls': ['index'],
  'chat.completion/usage': ['completion_tokens', 'prompt_tokens', 'total_tokens'],
  'chat.completion.chunk/usage': ['completion_tokens', 'prompt_tokens', 'total_tokens'],
  function: ['id', 'function', 'type'],
  'function/function': ['arguments', 'name'],
  response: ['id', 'created_at', 'model', 'object', 'output', 'parallel_tool_calls', 'tool_choice', 'tools'],
  'response/usage': [
    'input_tokens',
    'input_tokens_details',
    'output_tokens',
    'output_tokens_details',
    'total_tokens',
  ],
  'response/usage/input_tokens_details': ['cached_tokens', 'cache_write_tokens'],
  'response/usage/output_tokens_details': ['reasoning_tokens'],
  'response/tools': ['name', 'type'],
  message: ['id', 'content', 'role', 'status', 'type'],
  output_text: ['annotations', 'text', 'type'],
  reasoning: ['id', 'summary', 'type'],
  summary_text: ['text', 'type'],
  reasoning_text: ['text', 'type'],
  function_call: ['arguments', 'call_id', 'name', 'type'],
  'response.created': ['response', 'sequence_number', 'type'],
  'response.in_progress': ['response', 'sequence_number', 'type'],
  'response.output_item.added': ['item', 'output_index', 'sequence_number', 'type'],
  'response.output_item.done': ['item', 'output_index', 'sequence_number', 'type'],
  'response.content_part.added': [
    'content_index',
    'item_id',
    'output_index',
    'part',
    'sequence_number',
    'type',
  ],
  'response.content_part.done': [
    'content_index',
    'item_id',
    'output_index',
    'part',
    'sequence_number',
    'type',
  ],
  'response.output_text.delta': [
    'content_index',
    'delta',
    'item_id',
    'logprobs',
    'output_index',
    'sequence_number',
    'type',
  ],
  'response.output_text.done': [
    'content_index',
    'item_id',
    'logprobs',
    'output_index',
    'sequence_number',
    'text',
    'type',
  ],
  'response.function_call_arguments.delta': ['delta', 'item_id', 'output_index', 'sequence_number', 'type'],
  'response.function_call_arguments.done': [
    'arguments',
    'item_id',
    'output_index',
    'sequence_number',
    'type',
  ],
  'response.reasoning_summary_part.added': [
    'item_id',
    'output_index',
    'part',
    'sequence_number',
    'summary_index',
    'type',
  ],
  'response.reasoning_summary_part.done': [
    'item_id',
    'output_index',
    'part',
    'sequence_number',
    'summary_index',
    'type',
  ],
  'response.reasoning_summary_text.delta': [
    'delta',
    'item_id',
    'output_index',
    'sequence_number',
    'summary_index',
    'type',
  ],
  'response.reasoning_summary_text.done': [
    'item_id',
    'output_index',
    'sequence_number',
    'summary_index',
    'text',
    'type',
  ],
  'response.completed': ['response', 'sequence_number', 'type'],
}

const QUESTION = 'What is the weather in Paris?'
const TOOL = { name: 'get_weather', parameters: { type: 'object', properties: {} } }
const messages = [{ role: 'user', content: QUESTION }]

const ASKED = [
  ['/chat/completions', { messages }],
  ['/chat/completions', { messages, tools: [{ type: 'function', function: TOOL }] }],
  ['/responses', { input: QUESTION }],
  ['/responses', { input: QUESTION, tools: [{ type: 'function', ...TOOL }] }],
] as const

test('every object of an answer has the fields that the schema requires', async ({ access }) => {
  const seen = new Set<string>()
  for (const [path, body] of ASKED) {
    for (const options of [{}, { stream: true, stream_options: { include_usage: true } }]) {
      const { status, answers } = await ask(access, path, { ...body, ...options })
      expect({ status, missing: answers.flatMap((answer) => findMissing(answer, [], seen)) }).toEqual({
        status: 200,
        missing: [],
      })
    }
  }
  expect([...seen].toSorted()).toEqual(Object.keys(REQUIRED).toSorted())
})

/**
 * Returns the places in an object, at any depth, where a field is missing. `outer` has the names of the outer fields.
 */
function findMissing(value: unknown, outer: readonly string[], seen: Set<string>): string[] {
  if (Array.isArray(value)) return value.flatMap((entry) => findMissing(entry, outer, seen))
  if (typeof value !== 'object' || value === null) return []
  const fields: Readonly<Record<string, unknown>> = { ...value }
  const own = [fields['object'], fields['type']].find((name) => typeof name === 'string') ?? ''
  const place = Object.hasOwn(REQUIRED, own) && !OTHERS.has(outer.join('/')) ? [own] : outer
  const kind = place.join('/')
  const required = REQUIRED[kind]
  if (required !== undefined) seen.add(kind)
  const missing = (required ?? []).filter((field) => fields[field] === undefined || fields[field] === null)
  const inner = Object.entries(fields).flatMap(([name, one]) => findMissing(one, [...place, name], seen))
  return [...missing.map((field) => `${kind}/${field}`), ...inner]
}

/** Places at which an object has the type of a call, but is a part of a call or the definition of a function. */
const OTHERS: ReadonlySet<string> = new Set([
  'response/tools',
  'chat.completion.chunk/choices/delta/tool_calls',
])

async function ask({ baseUrl, apiKey, fetch }: ClientAccess, path: string, body: object) {
  const response = await fetch(baseUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'x-responses-events': 'full' },
    body: JSON.stringify({ model: 'demo-reasoning', ...body }),
  })
  const { status } = response
  const text = await response.text()
  if ('stream' in body) {
    const data = text.split('\n').filter((line) => line.startsWith('data: {'))
    return { status, answers: data.map((line): unknown => JSON.parse(line.slice('data: '.length))) }
  }
  return { status, answers: [JSON.parse(text)] }
}
