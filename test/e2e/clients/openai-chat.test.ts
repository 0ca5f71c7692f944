import OpenAI from 'openai'
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod'
import { expect } from 'vitest'
import { z } from 'zod'
import { expectBalancedBooks } from '../../support/books.ts'
import { LONG_TEXT, test, type ClientAccess } from '../../support/client-test.ts'

const connect = ({ baseUrl, apiKey, fetch }: ClientAccess) => new OpenAI({ baseURL: baseUrl, apiKey, fetch })

const Weather = z.object({ city: z.string(), unit: z.enum(['celsius', 'fahrenheit']) })

test('an answer holds the conversation that arrived, in one body', async ({ access }) => {
  const openai = connect(access)
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
  expect(answer._request_id).toMatch(/^[0-9a-f-]{36}$/u)
  expect(answer.usage?.total_tokens).toBe(
    (answer.usage?.prompt_tokens ?? 0) + (answer.usage?.completion_tokens ?? 0),
  )
})

test('log probabilities are the same in one body and in a stream, one entry for each token', async ({
  access,
}) => {
  const openai = connect(access)
  const asked = {
    model: 'demo-chat',
    messages: [{ role: 'user' as const, content: 'Say hello, 世界 🌾.' }],
    seed: 7,
    logprobs: true,
    top_logprobs: 3,
  }
  const whole = await openai.chat.completions.create(asked)
  const entries = whole.choices[0]?.logprobs?.content ?? []
  expect(entries).toHaveLength(whole.usage?.completion_tokens ?? 0)
  const text = whole.choices[0]?.message.content ?? ''
  expect(text).not.toBe('')
  // The last token is the end of the turn.
  expect(
    entries
      .slice(0, -1)
      .map(({ token }) => token)
      .join(''),
  ).toBe(text)
  expect(Buffer.from(entries.slice(0, -1).flatMap(({ bytes }) => bytes ?? [])).toString()).toBe(text)
  for (const { token, logprob, top_logprobs: top } of entries) {
    expect(top).toHaveLength(3)
    expect(top[0]).toMatchObject({ token, logprob })
  }
  const stream = await openai.chat.completions.create({ ...asked, stream: true })
  const chunks = await Array.fromAsync(stream)
  expect(chunks.flatMap(({ choices }) => choices[0]?.logprobs?.content ?? [])).toEqual(entries)

  const legacy = await openai.completions.create({ model: 'demo-chat', prompt: 'Hi 🌾', logprobs: 2 })
  const { tokens = [], token_logprobs: own = [] } = legacy.choices[0]?.logprobs ?? {}
  expect(tokens.slice(0, -1).join('')).toBe(legacy.choices[0]?.text)
  expect(own).toHaveLength(legacy.usage?.completion_tokens ?? 0)
})

test('a streamed answer is the same text, with usage as its last chunk when asked', async ({ access }) => {
  const openai = connect(access)
  const messages = [{ role: 'user' as const, content: 'Say hello, 世界.' }]
  const whole = await openai.chat.completions.create({ model: 'millrace/demo-chat', messages })
  const stream = await openai.chat.completions.create({
    model: 'millrace/demo-chat',
    messages,
    stream: true,
    stream_options: { include_usage: true },
  })
  const chunks = await Array.fromAsync(stream)
  const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')
  expect(text).toBe(whole.choices[0]?.message.content)
  expect(chunks.at(-1)?.usage?.completion_tokens).toBe(whole.usage?.completion_tokens)
  expect(chunks.at(-1)?.choices).toEqual([])
})

test('the stream helper assembles text and hands it out as it grows', async ({ access }) => {
  const openai = connect(access)
  const pieces: string[] = []
  const stream = openai.chat.completions
    .stream({ model: 'demo-chat', messages: [{ role: 'user', content: LONG_TEXT }] })
    .on('content.delta', ({ delta }) => pieces.push(delta))
  expect(await stream.finalMessage()).toMatchObject({
    role: 'assistant',
    content: `You said: ${LONG_TEXT}`,
  })
  expect(pieces.length).toBeGreaterThan(1)
  expect(pieces.join('')).toBe(`You said: ${LONG_TEXT}`)
})

test('the stream helper assembles a tool call', async ({ access }) => {
  const openai = connect(access)
  const tools = [zodFunction({ name: 'get_weather', parameters: Weather })]
  const completion = await openai.chat.completions
    .stream({ model: 'demo-chat', tools, messages: [{ role: 'user', content: 'The weather in Paris?' }] })
    .finalChatCompletion()
  const [choice] = completion.choices
  expect(choice?.finish_reason).toBe('tool_calls')
  expect(choice?.message.tool_calls).toMatchObject([
    { function: { name: 'get_weather', parsed_arguments: { city: 'Paris', unit: 'celsius' } } },
  ])
})

test('parse returns a value of the schema', async ({ access }) => {
  const openai = connect(access)
  const completion = await openai.chat.completions.parse({
    model: 'demo-chat',
    messages: [{ role: 'user', content: 'In fahrenheit, please: how warm is Lisbon?' }],
    response_format: zodResponseFormat(Weather, 'weather'),
  })
  expect(completion.choices[0]?.message.parsed).toEqual({ city: 'Lisbon', unit: 'fahrenheit' })
})

test('the stream helper parses a streamed value of the schema', async ({ access }) => {
  const openai = connect(access)
  const stream = openai.chat.completions.stream({
    model: 'demo-chat',
    messages: [{ role: 'user', content: 'How warm is Lisbon?' }],
    response_format: zodResponseFormat(Weather, 'weather'),
  })
  const [choice] = (await stream.finalChatCompletion()).choices
  expect(choice?.message.parsed).toEqual({ city: 'Lisbon', unit: 'celsius' })
})

for (const stream of [false, true]) {
  test(`runTools calls the function and goes on to the last answer, ${stream ? 'streamed' : 'whole'}`, async ({
    access,
  }) => {
    const openai = connect(access)
    const asked: unknown[] = []
    const weather = zodFunction({
      name: 'get_weather',
      parameters: Weather,
      function: (args) => {
        asked.push(args)
        return 'sunny, 21 °C'
      },
    })
    const call = {
      model: 'demo-chat',
      messages: [{ role: 'user' as const, content: 'What is the weather in Paris?' }],
      tools: [weather],
    }
    const runner = stream
      ? openai.chat.completions.runTools({ ...call, stream: true })
      : openai.chat.completions.runTools(call)
    expect(await runner.finalContent()).toBe('The tool says: sunny, 21 °C')
    expect(asked).toEqual([{ city: 'Paris', unit: 'celsius' }])
    expect(access.exchanges.map(({ status }) => status)).toEqual([200, 200])
  })
}

test('a required tool is called though no message names it, and with none no tool is called', async ({
  access,
}) => {
  const openai = connect(access)
  const call = {
    model: 'demo-chat',
    messages: [{ role: 'user' as const, content: 'What is the weather in Paris?' }],
    tools: ['get_weather', 'send_mail'].map((name) => zodFunction({ name, parameters: Weather })),
  }
  const named = await openai.chat.completions.create({
    ...call,
    tool_choice: { type: 'function', function: { name: 'send_mail' } },
  })
  expect(named.choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'send_mail' } }])
  const none = await openai.chat.completions.create({ ...call, tool_choice: 'none' })
  expect(none.choices[0]?.message.tool_calls).toBeUndefined()
  expect(none.choices[0]?.finish_reason).toBe('stop')
})

test('reasoning comes apart from the answer, and effort off disables it', async ({ access }) => {
  const openai = connect(access)
  const ask = async (effort: string) => {
    const answer = await openai.chat.completions.create({
      model: 'demo-reasoning',
      messages: [{ role: 'user', content: 'Think!' }],
      // The client's type lacks some of the levels that the interface has.
      ...Object.fromEntries([['reasoning_effort', effort]]),
    })
    return answer.choices[0]?.message
  }
  expect(await ask('high')).toMatchObject({
    content: 'You said: Think!',
    reasoning_content: expect.stringMatching(/answer/),
  })
  expect(await ask('off')).not.toHaveProperty('reasoning_content')
})

test('a stop string ends the answer and never shows', async ({ access }) => {
  const openai = connect(access)
  const message = await openai.chat.completions
    .stream({
      model: 'demo-chat',
      messages: [{ role: 'user', content: 'one two three four' }],
      stop: ['three'],
    })
    .finalChatCompletion()
  expect(message.choices[0]).toMatchObject({
    message: { content: 'You said: one two ' },
    finish_reason: 'stop',
  })
})

test('max_tokens cuts the answer with finish_reason length', async ({ access }) => {
  const openai = connect(access)
  const answer = await openai.chat.completions.create({
    model: 'demo-chat',
    messages: [{ role: 'user', content: 'A long one, please.' }],
    max_tokens: 3,
  })
  expect(answer.choices[0]?.finish_reason).toBe('length')
  expect(answer.usage?.completion_tokens).toBe(3)
})

test('legacy completions answer a prompt, whole and streamed', async ({ access }) => {
  const openai = connect(access)
  const prompt = ['Once upon', 'a time']
  const whole = await openai.completions.create({ model: 'demo-chat', prompt })
  expect(whole.object).toBe('text_completion')
  expect(whole.choices[0]).toMatchObject({ text: 'You said: Once upon\na time', finish_reason: 'stop' })
  expect(whole.usage?.completion_tokens).toBeGreaterThan(0)

  const chunks = await Array.fromAsync(
    await openai.completions.create({ model: 'demo-chat', prompt, stream: true }),
  )
  expect(chunks.map((chunk) => chunk.choices[0]?.text ?? '').join('')).toBe(whole.choices[0]?.text)
  expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop')
})

test('afterwards nothing is held and the books are balanced', async ({ cluster, account }) => {
  await expectBalancedBooks(cluster, [account])
})
