import { Ajv2020 } from 'ajv/dist/2020.js'
import OpenAI from 'openai'
import { beforeAll, describe, expect, test } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import type { TestAccount } from '../support/cluster.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'

let cluster: SharedCluster
let account: TestAccount
let openai: OpenAI

beforeAll(async () => {
  cluster = await sharedCluster()
  account = await cluster.createAccount('100')
  openai = new OpenAI({ baseURL: cluster.baseUrl, apiKey: account.apiKey, maxRetries: 0 })
})

type Params = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model' | 'messages' | 'stream'>

const node = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    mood: { enum: ['good', 'bad'] },
    stars: { type: 'integer', minimum: 1, maximum: 5 },
    next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
  },
  required: ['city', 'mood', 'stars', 'next'],
  additionalProperties: false,
}
const schema = { $ref: '#/$defs/node', $defs: { node } }
const jsonSchema = {
  type: 'json_schema',
  json_schema: { name: 'review', schema, strict: true },
} satisfies Params['response_format']

const toolNamed = (name: string, property: string) => ({
  type: 'function' as const,
  function: {
    name,
    parameters: { type: 'object', properties: { [property]: { type: 'string' } }, required: [property] },
  },
})
const weather = toolNamed('get_weather', 'city')
const time = toolNamed('get_time', 'zone')
const ping = { type: 'function' as const, function: { name: 'ping' } }

/** Asks without streaming, and streamed with the client's own helper. Both answers must be the same. */
async function ask(content: string, params: Params, model = 'demo-chat') {
  const body = { model, messages: [{ role: 'user' as const, content }], ...params }
  const [whole] = (await openai.chat.completions.create(body)).choices
  const [streamed] = (await openai.chat.completions.stream(body).finalChatCompletion()).choices
  const answer = read(whole)
  // The helper returns the empty content of the first chunk if the answer has no content.
  expect({ ...read(streamed), content: streamed?.message.content || null }).toEqual(answer)
  // The helper also ignores reasoning.
  const { reasoning_content: reasoning = null } = Object(whole?.message)
  return { ...answer, reasoning }
}

function read(choice: OpenAI.ChatCompletion.Choice | undefined) {
  const calls = (choice?.message.tool_calls ?? []).map((call) => {
    if (call.type !== 'function') throw new Error(`a call of type ${call.type}`)
    const given: unknown = JSON.parse(call.function.arguments)
    return [call.function.name, given]
  })
  return { content: choice?.message.content, finish: choice?.finish_reason, calls }
}

const fits = new Ajv2020({ strict: false }).compile(schema)

/** Returns `fits` if the text is a review, else the text. */
function reviewOf(content: string | null | undefined): string | null | undefined {
  return fits(JSON.parse(content ?? '')) ? 'fits' : content
}

const CASES: [model: string, effort: Params, reasons: boolean][] = [
  ['demo-chat', {}, false],
  ['demo-reasoning', { reasoning_effort: 'high' }, true],
  // The client's type lacks this level of the interface.
  ['demo-reasoning', Object.fromEntries([['reasoning_effort', 'off']]), false],
]

describe.each(CASES)('%s %j', (model, effort, reasons) => {
  const ending = (finish: string) => ({
    finish,
    reasoning: reasons ? expect.stringContaining('I answer the last one') : null,
  })

  test('answers in JSON that fits the schema, recursive as it is', async () => {
    const answer = await ask('A review of Rome, please', { response_format: jsonSchema, ...effort }, model)
    expect(reviewOf(answer.content)).toBe('fits')
    expect(answer).toMatchObject({ calls: [], ...ending('stop') })
  })

  test('answers in some JSON object', async () => {
    const answer = await ask('Anything', { response_format: { type: 'json_object' }, ...effort }, model)
    expect(JSON.parse(answer.content ?? '')).toBeTypeOf('object')
    expect(answer).toMatchObject({ calls: [], ...ending('stop') })
  })

  test('calls a tool when one is required, whatever was said', async () => {
    const params: Params = { tools: [weather, time], tool_choice: 'required', ...effort }
    expect(await ask('Hello', params, model)).toEqual({
      content: null,
      calls: [['get_weather', { city: 'text' }]],
      ...ending('tool_calls'),
    })
    expect((await ask('The time and the weather in Rome', params, model)).calls).toEqual([
      ['get_weather', { city: 'Rome' }],
      ['get_time', { zone: 'Rome' }],
    ])
  })

  test('calls the tool that is named, once, over any format', async () => {
    const params: Params = {
      tools: [weather, time, ping],
      tool_choice: { type: 'function', function: { name: 'ping' } },
      response_format: jsonSchema,
      ...effort,
    }
    expect(await ask('The weather in Rome', params, model)).toEqual({
      content: null,
      calls: [['ping', {}]],
      ...ending('tool_calls'),
    })
  })

  test('may answer or call where a tool is strict', async () => {
    const params: Params = {
      tools: [{ ...weather, function: { ...weather.function, strict: true } }, time],
      ...effort,
    }
    expect(await ask('The weather in Rome', params, model)).toEqual({
      content: null,
      calls: [['get_weather', { city: 'Rome' }]],
      ...ending('tool_calls'),
    })
    const answer = await ask('Hello', params, model)
    expect(answer).toMatchObject({ content: expect.stringContaining('Hello'), calls: [], ...ending('stop') })
  })

  test.each(['auto', 'required'] as const)(
    'makes one call where several are not allowed, %s',
    async (choice) => {
      const params: Params = {
        tools: [weather, time],
        tool_choice: choice,
        parallel_tool_calls: false,
        ...effort,
      }
      expect(await ask('The time and the weather in Rome', params, model)).toEqual({
        content: null,
        calls: [['get_weather', { city: 'Rome' }]],
        ...ending('tool_calls'),
      })
    },
  )

  test('chooses between calls and JSON when it has tools and a format', async () => {
    const params: Params = { tools: [weather, time], response_format: jsonSchema, ...effort }
    expect(await ask('The weather in Rome', params, model)).toEqual({
      content: null,
      calls: [['get_weather', { city: 'Rome' }]],
      ...ending('tool_calls'),
    })
    const answer = await ask('Hello', params, model)
    expect(reviewOf(answer.content)).toBe('fits')
    expect(answer).toMatchObject({ calls: [], ...ending('stop') })
  })
})

test('a call that the limit cuts short ends as length', async () => {
  const answer = await openai.chat.completions.create({
    model: 'demo-chat',
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [weather],
    tool_choice: 'required',
    max_tokens: 18,
  })
  expect(answer.choices[0]?.finish_reason).toBe('length')
  expect(answer.choices[0]?.message.tool_calls?.[0]).toMatchObject({ function: { name: 'get_weather' } })
})

test('responses are held to text.format as chats are', async () => {
  const answer = await openai.responses.create({
    model: 'demo-chat',
    input: 'A review of Rome, please',
    text: { format: { type: 'json_schema', name: 'review', schema } },
  })
  expect(reviewOf(answer.output_text)).toBe('fits')
})

describe('refused before anything is reserved', () => {
  const wrong = { type: 'object', properties: { city: { type: 'strng' } } }
  const wrongTool = { type: 'function' as const, function: { name: 'f', parameters: wrong } }

  test.each<[string, Params, RegExp]>([
    [
      'response_format',
      { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: wrong } } },
      /#\/properties\/city\/type: expected one of array, boolean/,
    ],
    [
      'response_format',
      { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { $ref: '#' } } } },
      /refers to itself without end/,
    ],
    [
      'tools[0].function.parameters',
      { tools: [wrongTool], tool_choice: 'required' },
      /#\/properties\/city\/type/,
    ],
    [
      'tools[0].function.parameters',
      { tools: [wrongTool], response_format: { type: 'json_object' } },
      /#\/properties\/city\/type/,
    ],
    ['tool_choice', { tools: [], tool_choice: 'required' }, /no function is offered/],
    [
      'tool_choice',
      { tools: [weather], tool_choice: { type: 'function', function: { name: 'fly' } } },
      /no function 'fly' is offered/,
    ],
  ])('%s', async (param, params, message) => {
    // The credits pay for one token, but for no reservation, which would be refused with 402.
    const poor = await cluster.createAccount('0.00001')
    const client = new OpenAI({ baseURL: cluster.baseUrl, apiKey: poor.apiKey, maxRetries: 0 })
    const call = client.chat.completions.create({
      model: 'demo-chat',
      messages: [{ role: 'user', content: 'Hello' }],
      ...params,
    })
    await expect(call).rejects.toMatchObject({
      status: 400,
      code: 'invalid_request',
      type: 'api_error',
      param,
      message: expect.stringMatching(message),
    })
    expect(await cluster.balance(poor)).toMatchObject({ posted: 10_000n, held: 0n, openHolds: 0 })
  })
})

test('afterwards the books are balanced and nothing is held', async () => {
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).held).toBe(0n)
})

test('numbers that JavaScript would round are those of the schema, and bounds of any size are accepted', async () => {
  const parameters =
    '{"type":"object","properties":{"id":{"type":"integer","enum":[9007199254740993]},' +
    '"ratio":{"type":"number","const":1.0,"default":1.0},' +
    '"high":{"type":"integer","minimum":9223372036854775807,"maximum":9223372036854775807},' +
    '"any":{"type":"integer","minimum":-1e30,"maximum":18446744073709551615}},' +
    '"required":["id","ratio","high","any"],"additionalProperties":false}'
  const ask = async (choice: string) => {
    const response = await fetch(`${cluster.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.apiKey}`, 'content-type': 'application/json' },
      body:
        '{"model":"demo-chat","messages":[{"role":"user","content":"Call it."}],"tools":[{"type":"function",' +
        `"function":{"name":"f","strict":true,"parameters":${parameters}}}],"tool_choice":${choice}}`,
    })
    return { status: response.status, text: await response.text() }
  }
  expect(await ask('"required"')).toEqual({
    status: 200,
    text: expect.stringContaining(String.raw`\"id\":9007199254740993,\"ratio\":1.0`),
  })
  expect(await ask('"auto"')).toMatchObject({ status: 200 })
})

test.each<[structured: object, answer: RegExp]>([
  [{ regex: '[a-z]{3}-[0-9]{2}' }, /^[a-z]{3}-[0-9]{2}$/],
  [{ choice: ['red', 'green'] }, /^(?:red|green)$/],
])(
  'structured_outputs %j of vLLM’s clients constrains the answer, also behind reasoning',
  async (...given) => {
    const [structured, answer] = given
    for (const model of ['demo-chat', 'demo-reasoning']) {
      const { content } = await ask('Hello', Object.fromEntries([['structured_outputs', structured]]), model)
      expect(content).toMatch(answer)
    }
    await expectBalancedBooks(cluster, [account])
  },
)

test('structured_outputs.json is a schema, also behind reasoning', async () => {
  for (const model of ['demo-chat', 'demo-reasoning']) {
    const { content } = await ask(
      'Hello',
      Object.fromEntries([['structured_outputs', { json: schema }]]),
      model,
    )
    expect(reviewOf(content)).toBe('fits')
  }
})

test('a grammar that the engine cannot follow is the caller’s mistake, and free', async () => {
  await expectBalancedBooks(cluster, [account])
  const before = await cluster.balance(account)
  const asking = ask('Hello', Object.fromEntries([['guided_grammar', 'root ::= "yes" | "no"']]))
  await expect(asking).rejects.toMatchObject({ status: 400, code: 'invalid_request' })
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBe(before.posted)
})

test('every answer of a load tool is as long as it asks for', async () => {
  const body = {
    model: 'demo-chat',
    messages: [{ role: 'user' as const, content: 'Hello' }],
    ...Object.fromEntries([['ignore_eos', true]]),
    max_tokens: 40,
  }
  const whole = await openai.chat.completions.create(body)
  expect([whole.usage?.completion_tokens, whole.choices[0]?.finish_reason]).toEqual([40, 'length'])
  const least = {
    ...body,
    ...Object.fromEntries([
      ['min_tokens', 30],
      ['ignore_eos', false],
    ]),
  }
  const { usage } = await openai.chat.completions.create(least)
  expect(usage?.completion_tokens).toBeGreaterThanOrEqual(30)
})
