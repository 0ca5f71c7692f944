import Anthropic, { BadRequestError } from '@anthropic-ai/sdk'
import { expect } from 'vitest'
import { expectBalancedBooks } from '../../support/books.ts'
import { test, type ClientAccess } from '../../support/client-test.ts'
import { occupy } from '../../support/occupy.ts'
import { FILE_MODELS } from '../../support/shared-models.ts'

const NARROW_MODEL = FILE_MODELS['anthropic-sdk'].engine.model

/** The client adds `/v1` to its base URL. It sends `apiKey` as `x-api-key`, and `authToken` as a bearer key. */
const connect = (
  { baseUrl, apiKey, fetch }: ClientAccess,
  credentials: 'x-api-key' | 'bearer' = 'x-api-key',
) =>
  new Anthropic({
    baseURL: baseUrl.replace(/\/v1$/, ''),
    fetch,
    maxRetries: 0,
    ...(credentials === 'bearer' ? { apiKey: null, authToken: apiKey } : { apiKey, authToken: null }),
  })

const hello = {
  model: 'demo-chat',
  max_tokens: 1_024,
  messages: [{ role: 'user' as const, content: 'Hello!' }],
}

const weather = {
  name: 'get_weather',
  description: 'The weather in a city',
  input_schema: {
    type: 'object' as const,
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
}
const forecast = { ...weather, name: 'get_forecast', description: 'The forecast for a city' }

for (const credentials of ['x-api-key', 'bearer'] as const) {
  test(`a message holds the conversation that arrived, with the key as ${credentials}`, async ({
    access,
  }) => {
    const anthropic = connect(access, credentials)
    const message = await anthropic.messages.create({
      ...hello,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      metadata: { user_id: 'someone' },
    })
    expect(message).toMatchObject({
      type: 'message',
      role: 'assistant',
      model: 'demo-chat',
      content: [{ type: 'text', text: 'You said: Hello!\n\nBefore that:\nsystem: Be brief.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
    })
    expect(message._request_id).toMatch(/^[0-9a-f-]{36}$/u)
    expect(message.id).toBe(`msg_${message._request_id}`)
    expect(message.usage.input_tokens).toBeGreaterThan(0)
    expect(message.usage.output_tokens).toBeGreaterThan(0)
  })
}

test('a stream begins with the exact usage of its prompt and becomes the same message', async ({
  access,
}) => {
  const anthropic = connect(access)
  const call = { ...hello, messages: [{ role: 'user' as const, content: 'Say hello, 世界.' }] }
  const whole = await anthropic.beta.messages.create(call)
  expect(access.exchanges.map(({ path }) => path)).toEqual(['/v1/messages'])
  const events = await Array.fromAsync(await anthropic.messages.create({ ...call, stream: true }))
  expect(events.map(({ type }) => type).filter((type, i, all) => type !== all[i - 1])).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  const [start] = events
  if (start?.type !== 'message_start') throw new Error('no message_start')
  const { input_tokens: uncached, cache_read_input_tokens: cached } = start.message.usage
  expect(uncached + (cached ?? 0)).toBe(whole.usage.input_tokens + (whole.usage.cache_read_input_tokens ?? 0))
  expect(cached).toBeGreaterThan(0)
  const streamed = await anthropic.messages.stream(call).finalMessage()
  expect(streamed.content).toEqual(whole.content)
  expect(streamed.stop_reason).toBe('end_turn')
  expect(streamed.usage.output_tokens).toBe(whole.usage.output_tokens)
})

test('a billing header that changes with every request does not keep the prompt out of the cache', async ({
  access,
}) => {
  const anthropic = connect(access)
  const ask = async (cch: string) => {
    const header = `x-anthropic-billing-header: cc_version=2.1.0; cc_entrypoint=cli; cch=${cch};`
    const system = [header, 'Be brief. '.repeat(500)].map((text) => ({ type: 'text' as const, text }))
    const messages = [{ role: 'user' as const, content: 'Talk [[tokens=4]]' }]
    return (await anthropic.messages.create({ ...hello, system, messages })).usage
  }
  const first = await ask('1a2b3')
  const second = await ask('4c5d6')
  const prompt = first.input_tokens + (first.cache_read_input_tokens ?? 0)
  expect(prompt).toBeGreaterThan(1_000)
  expect(second.cache_read_input_tokens).toBeGreaterThan(0.95 * prompt)
})

test('a message costs what the same conversation costs on chat', async ({ access: { cluster, baseUrl } }) => {
  const messages = [{ role: 'user' as const, content: 'How much is this?' }]
  const charges: bigint[] = []
  for (const path of ['/chat/completions', '/messages', '/messages']) {
    const account = await cluster.createAccount('1')
    const before = await cluster.balance(account)
    const answer = await fetch(baseUrl + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.apiKey}` },
      body: JSON.stringify({ model: 'demo-chat', max_tokens: 64, messages, stream: charges.length === 2 }),
    })
    expect(answer.status).toBe(200)
    await answer.text()
    await expectBalancedBooks(cluster, [account])
    charges.push((await cluster.balance(account)).posted - before.posted)
  }
  expect(charges[0]).not.toBe(0n)
  expect(charges).toEqual([charges[0], charges[0], charges[0]])
})

for (const stream of [false, true]) {
  test(`a tool loop of two calls goes on to the last answer, ${stream ? 'streamed' : 'whole'}`, async ({
    access,
  }) => {
    const anthropic = connect(access)
    const ask = async (messages: Anthropic.MessageParam[]) => {
      const call = { ...hello, messages, tools: [weather, forecast] }
      return stream
        ? await anthropic.messages.stream(call).finalMessage()
        : await anthropic.messages.create(call)
    }
    const question: Anthropic.MessageParam = {
      role: 'user',
      content: 'The weather and the forecast in Paris?',
    }
    const first = await ask([question])
    expect(first.stop_reason).toBe('tool_use')
    const calls = first.content.filter((block) => block.type === 'tool_use')
    expect(calls).toMatchObject([
      { name: 'get_weather', input: { city: 'Paris' } },
      { name: 'get_forecast', input: { city: 'Paris' } },
    ])
    const results = calls.map(({ id, name }) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: [{ type: 'text' as const, text: `${name}: sunny` }],
    }))
    const last = await ask([
      question,
      { role: 'assistant', content: first.content },
      { role: 'user', content: results },
    ])
    expect(last).toMatchObject({
      stop_reason: 'end_turn',
      content: [{ type: 'text', text: 'The tool says: get_weather: sunny\nget_forecast: sunny' }],
    })
  })
}

test('the tool choice forces, forbids and limits calls', async ({ access }) => {
  const anthropic = connect(access)
  const ask = async (tool_choice: Anthropic.ToolChoice, content = 'Hello!') => {
    const call = {
      ...hello,
      messages: [{ role: 'user' as const, content }],
      tools: [weather, forecast],
      tool_choice,
    }
    return (await anthropic.messages.create(call)).content.flatMap((block) =>
      block.type === 'tool_use' ? [block.name] : [],
    )
  }
  const both = 'The weather and the forecast in Paris?'
  expect(await ask({ type: 'any' })).toHaveLength(1)
  expect(await ask({ type: 'tool', name: 'get_forecast' })).toEqual(['get_forecast'])
  expect(await ask({ type: 'none' }, both)).toEqual([])
  expect(await ask({ type: 'auto', disable_parallel_tool_use: true }, both)).toEqual(['get_weather'])
  await expect(ask({ type: 'tool', name: 'nope' })).rejects.toThrow(BadRequestError)
})

for (const stream of [false, true]) {
  test(`thinking is a block that can be sent back, ${stream ? 'streamed' : 'whole'}`, async ({ access }) => {
    const anthropic = connect(access)
    const call: Anthropic.MessageCreateParamsNonStreaming = {
      ...hello,
      model: 'demo-reasoning',
      max_tokens: 4_096,
      thinking: { type: 'enabled', budget_tokens: 2_000 },
    }
    const message = stream
      ? await anthropic.messages.stream(call).finalMessage()
      : await anthropic.messages.create(call)
    expect(message.content).toMatchObject([
      { type: 'thinking', thinking: 'There is one message. I answer the last one.' },
      { type: 'text', text: 'You said: Hello!' },
    ])
    const [thinking] = message.content
    expect(thinking?.type === 'thinking' && thinking.signature).toBeTruthy()
    const again = await anthropic.messages.create({
      ...call,
      thinking: { type: 'disabled' },
      messages: [
        ...hello.messages,
        { role: 'assistant', content: message.content },
        { role: 'user', content: 'And now?' },
      ],
    })
    expect(again.content).toMatchObject([
      { type: 'text', text: expect.stringContaining('assistant: You said: Hello!') },
    ])
  })
}

test('counts exactly the tokens that the same message then has, and costs nothing', async ({ access }) => {
  const anthropic = connect(access)
  const account = await access.cluster.createAccount('1')
  const counting = connect({ ...access, apiKey: account.apiKey })
  const call = { ...hello, model: 'demo-reasoning', system: 'Be brief.', tools: [weather] }
  const { max_tokens: _, ...prompt } = call
  const { usage } = await anthropic.messages.create(call)
  const counted = await counting.messages.countTokens(prompt)
  expect(counted).toEqual({ input_tokens: usage.input_tokens + (usage.cache_read_input_tokens ?? 0) })
  const { input_tokens: longer } = await counting.messages.countTokens({
    ...prompt,
    messages: [...prompt.messages, { role: 'assistant', content: 'Hi.' }],
  })
  expect(longer).toBeGreaterThan(counted.input_tokens)
  await expect(counting.messages.countTokens({ ...prompt, model: 'test/unavailable' })).rejects.toMatchObject(
    {
      status: 503,
      type: 'overloaded_error',
    },
  )
  expect(access.exchanges.at(-1)?.retryAfterS).toBeGreaterThan(0)
  const untouched = await access.cluster.balance(await access.cluster.createAccount('1'))
  expect(await access.cluster.balance(account)).toEqual(untouched)
})

test('the end of a message says what ended it', async ({ access }) => {
  const anthropic = connect(access)
  expect(await anthropic.messages.create({ ...hello, max_tokens: 2 })).toMatchObject({
    stop_reason: 'max_tokens',
    usage: { output_tokens: 2 },
  })
  const stopping = { ...hello, stop_sequences: ['never', 'said'] }
  const end = { stop_reason: 'stop_sequence', stop_sequence: 'said', content: [{ text: 'You ' }] }
  expect(await anthropic.messages.create(stopping)).toMatchObject(end)
  expect(await anthropic.messages.stream(stopping).finalMessage()).toMatchObject(end)
})

test('a busy model answers once there is room', async ({ hasty }) => {
  const anthropic = connect(hasty)
  const { cluster, exchanges } = hasty
  await using occupied = await occupy(cluster, NARROW_MODEL)
  const call = { ...hello, model: NARROW_MODEL }
  const text = anthropic.messages.stream(call, { maxRetries: 5 }).finalText()
  await expect.poll(() => exchanges.length).toBe(1)
  await occupied.release()
  expect(await text).toBe('You said: Hello!')
  expect(exchanges.map(({ status }) => status)).toEqual([429, 200])
})

test('an aborted stream frees the engine', async ({ access, cluster, account }) => {
  const anthropic = connect(access)
  const running = () =>
    cluster.metric(cluster.simulator, 'millrace_simulator_running', { model: NARROW_MODEL })
  const messages = [{ role: 'user' as const, content: 'Talk [[tokens=4000]]' }]
  const stream = anthropic.messages.stream({ ...hello, model: NARROW_MODEL, max_tokens: 4_000, messages })
  const ended = stream.done().catch(() => {})
  await expect.poll(running).toBe(1)
  stream.abort()
  await ended
  await expect.poll(running).toBe(0)
  await expectBalancedBooks(cluster, [account])
})
