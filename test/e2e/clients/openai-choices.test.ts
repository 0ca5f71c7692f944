import OpenAI from 'openai'
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod'
import { expect } from 'vitest'
import { z } from 'zod'
import { expectBalancedBooks } from '../../support/books.ts'
import { test, type ClientAccess } from '../../support/client-test.ts'

const connect = ({ baseUrl, apiKey, fetch }: ClientAccess) => new OpenAI({ baseURL: baseUrl, apiKey, fetch })

const Weather = z.object({ city: z.string(), unit: z.enum(['celsius', 'fahrenheit']) })

test('several answers to one prompt, whole and streamed: each with its seed, the prompt counted once', async ({
  access,
}) => {
  const openai = connect(access)
  const asked = {
    model: 'demo-chat',
    messages: [{ role: 'user' as const, content: 'Talk [[tokens=60]]' }],
    temperature: 0.8,
    seed: 7,
  }
  const whole = await openai.chat.completions.create({ ...asked, n: 3 })
  const texts = whole.choices.map(({ message }) => message.content)
  expect(whole.choices.map(({ index }) => index)).toEqual([0, 1, 2])
  expect(new Set(texts).size).toBe(3)
  const singles = await Promise.all(
    [7, 8, 9].map(async (seed) => await openai.chat.completions.create({ ...asked, seed })),
  )
  expect(singles.map(({ choices }) => choices[0]?.message.content)).toEqual(texts)
  expect(whole.usage).toMatchObject({
    prompt_tokens: singles[0]?.usage?.prompt_tokens,
    completion_tokens: singles.reduce((sum, { usage }) => sum + (usage?.completion_tokens ?? 0), 0),
  })

  const stream = await openai.chat.completions.create({
    ...asked,
    n: 3,
    stream: true,
    stream_options: { include_usage: true },
  })
  const chunks = await Array.fromAsync(stream)
  const streamed = ['', '', '']
  for (const { index, delta } of chunks.flatMap(({ choices }) => choices))
    streamed[index] += delta.content ?? ''
  expect(streamed).toEqual(texts)
  expect(chunks.filter(({ choices }) => choices[0]?.finish_reason === 'stop')).toHaveLength(3)
  expect(chunks.at(-1)).toMatchObject({
    choices: [],
    usage: { completion_tokens: whole.usage?.completion_tokens },
  })
  expect(chunks.filter(({ usage }) => usage)).toHaveLength(1)
})

test('several answers with tools, a schema, log probabilities, reasoning, and of a legacy prompt', async ({
  access,
}) => {
  const openai = connect(access)
  const user = (content: string) => [{ role: 'user' as const, content }]
  const tools = [zodFunction({ name: 'get_weather', parameters: Weather })]
  const called = await openai.chat.completions
    .stream({ model: 'demo-chat', tools, messages: user('The weather in Paris?'), n: 2 })
    .finalChatCompletion()
  const calls = called.choices.flatMap(({ message }) => message.tool_calls ?? [])
  expect(calls).toMatchObject([{ function: { name: 'get_weather' } }, { function: { name: 'get_weather' } }])
  expect(new Set(calls.map(({ id }) => id)).size).toBe(2)

  const parsed = await openai.chat.completions.parse({
    model: 'demo-chat',
    messages: user('How warm is Lisbon?'),
    response_format: zodResponseFormat(Weather, 'weather'),
    logprobs: true,
    n: 2,
  })
  expect(parsed.choices.map(({ message }) => Weather.safeParse(message.parsed).success)).toEqual([true, true])
  expect(parsed.choices.flatMap(({ logprobs }) => logprobs?.content ?? [])).toHaveLength(
    parsed.usage?.completion_tokens ?? 0,
  )

  const reasoned = await openai.chat.completions.create({
    model: 'demo-reasoning',
    messages: user('Think!'),
    n: 2,
  })
  expect(reasoned.choices.map(({ message }) => 'reasoning_content' in message)).toEqual([true, true])

  const legacy = await openai.completions.create({ model: 'demo-chat', prompt: 'Hi', n: 2, best_of: 2 })
  expect(legacy.choices).toMatchObject([
    { index: 0, text: 'You said: Hi' },
    { index: 1, text: 'You said: Hi' },
  ])
  const chunks = await Array.fromAsync(
    await openai.completions.create({ model: 'demo-chat', prompt: 'Hi', n: 2, stream: true }),
  )
  const streamed = ['', '']
  for (const { index, text } of chunks.flatMap(({ choices }) => choices)) streamed[index] += text
  expect(streamed).toEqual(['You said: Hi', 'You said: Hi'])
})

test('afterwards nothing is held and the books are balanced', async ({ cluster, account }) => {
  await expectBalancedBooks(cluster, [account])
})
