import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'

let cluster: TestCluster
let account: TestAccount
let openai: OpenAI

beforeAll(async () => {
  cluster = await startCluster({
    workers: [
      [
        { model: 'demo-chat', family: 'demo' },
        { model: 'millrace/demo-chat', family: 'demo' },
        { model: 'demo-reasoning', family: 'demo-reasoning' },
      ],
    ],
  })
  account = await cluster.createAccount('100')
  openai = new OpenAI({ baseURL: cluster.baseUrl, apiKey: account.apiKey, maxRetries: 0 })
})

afterAll(async () => await cluster.stop())

const TOOL = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'Tells the weather.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
}

test('an answer holds the conversation that arrived, in one body', async () => {
  const answer = await openai.chat.completions.create({
    model: 'demo-chat',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Grüß dich! 🌾' },
    ],
  })
  expect(answer.model).toBe('demo-chat')
  expect(answer.choices[0]?.message.content).toBe(
    'You said: Grüß dich! 🌾\n\nBefore that:\nsystem: Be brief.',
  )
  expect(answer.choices[0]?.finish_reason).toBe('stop')
  expect(answer.usage?.total_tokens).toBe(
    (answer.usage?.prompt_tokens ?? 0) + (answer.usage?.completion_tokens ?? 0),
  )
})

test('a streamed answer is the same text, with usage as its last chunk when asked', async () => {
  const messages = [{ role: 'user' as const, content: 'Say hello, 世界.' }]
  const whole = await openai.chat.completions.create({ model: 'millrace/demo-chat', messages })
  const stream = await openai.chat.completions.create({
    model: 'millrace/demo-chat',
    messages,
    stream: true,
    stream_options: { include_usage: true },
  })
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')
  expect(text).toBe(whole.choices[0]?.message.content)
  expect(chunks.at(-1)?.usage?.completion_tokens).toBe(whole.usage?.completion_tokens)
  expect(chunks.at(-1)?.choices).toEqual([])
})

test("the client's own stream helper assembles a tool call, and the tool's result is answered", async () => {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'user', content: 'What is the weather in Paris?' },
  ]
  const stream = openai.chat.completions.stream({ model: 'demo-chat', messages, tools: [TOOL] })
  const [choice] = (await stream.finalChatCompletion()).choices
  expect(choice?.finish_reason).toBe('tool_calls')
  const call = choice?.message.tool_calls?.[0]
  if (call?.type !== 'function') throw new Error('no function was called')
  expect(call.function.name).toBe('get_weather')
  const called: unknown = JSON.parse(call.function.arguments)
  expect(called).toEqual({ city: 'Paris' })

  const answer = await openai.chat.completions.create({
    model: 'demo-chat',
    tools: [TOOL],
    messages: [
      ...messages,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: 'sunny, 21 °C' },
    ],
  })
  expect(answer.choices[0]?.message.content).toBe('The tool says: sunny, 21 °C')
})

test('reasoning comes apart from the answer, and effort off disables it', async () => {
  const ask = async (effort: string) => {
    const answer = await openai.chat.completions.create({
      model: 'demo-reasoning',
      messages: [{ role: 'user', content: 'Think!' }],
      // The interface's levels are not all of the client's.
      ...Object.fromEntries([['reasoning_effort', effort]]),
    })
    return JSON.stringify(answer.choices[0]?.message)
  }
  const thinking: unknown = JSON.parse(await ask('high'))
  expect(thinking).toMatchObject({
    content: 'You said: Think!',
    reasoning_content: expect.stringMatching(/answer/),
  })
  expect(await ask('off')).not.toContain('reasoning_content')
})

test('a stop string ends the answer and never shows', async () => {
  const stream = await openai.chat.completions.create({
    model: 'demo-chat',
    messages: [{ role: 'user', content: 'one two three four' }],
    stop: ['three'],
    stream: true,
  })
  let text = ''
  let finish: string | null = null
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? ''
    finish = chunk.choices[0]?.finish_reason ?? finish
  }
  expect(text).toBe('You said: one two ')
  expect(finish).toBe('stop')
})

test('max_tokens cuts the answer with finish_reason length', async () => {
  const answer = await openai.chat.completions.create({
    model: 'demo-chat',
    messages: [{ role: 'user', content: 'A long one, please.' }],
    max_tokens: 3,
  })
  expect(answer.choices[0]?.finish_reason).toBe('length')
  expect(answer.usage?.completion_tokens).toBe(3)
})

test('a prompt beyond the context window is the caller’s mistake and costs nothing', async () => {
  await expect.poll(async () => (await cluster.balance(account)).openHolds, { timeout: 20_000 }).toBe(0)
  const before = await cluster.balance(account)
  const content = 'word '.repeat(10_000)
  await expect(
    openai.chat.completions.create({ model: 'demo-chat', messages: [{ role: 'user', content }] }),
  ).rejects.toMatchObject({ status: 400, code: 'invalid_request' })
  await expect.poll(async () => (await cluster.balance(account)).openHolds, { timeout: 20_000 }).toBe(0)
  expect((await cluster.balance(account)).posted).toBe(before.posted)
})

test('errors reach the client as their own classes', async () => {
  const messages = [{ role: 'user' as const, content: 'x' }]
  await expect(openai.chat.completions.create({ model: 'nope', messages })).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
    type: 'api_error',
  })
  const stranger = new OpenAI({ baseURL: cluster.baseUrl, apiKey: 'wrong', maxRetries: 0 })
  await expect(stranger.models.list()).rejects.toMatchObject({ status: 401, code: 'invalid_key' })
})

test('models are listed and found, ids with a slash too', async () => {
  const ids = []
  for await (const model of openai.models.list()) ids.push(model.id)
  expect(ids).toEqual(
    expect.arrayContaining(['demo-chat', 'millrace/demo-chat', 'demo-reasoning', 'demo-embed']),
  )
  expect((await openai.models.retrieve('millrace/demo-chat')).id).toBe('millrace/demo-chat')
})

test('afterwards the books are balanced and nothing is held', async () => {
  await expect.poll(async () => (await cluster.balance(account)).openHolds, { timeout: 20_000 }).toBe(0)
  for (const [question, count] of Object.entries(await cluster.reconcile()))
    expect([question, count]).toEqual([question, 0])
})
