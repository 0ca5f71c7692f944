import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  APICallError,
  defaultSettingsMiddleware,
  embed,
  embedMany,
  generateText,
  isStepCount,
  Output,
  streamText,
  tool,
  wrapLanguageModel,
} from 'ai'
import { describe, expect } from 'vitest'
import { z } from 'zod'
import { expectBalancedBooks } from '../../support/books.ts'
import { LONG_TEXT, test, type ClientAccess } from '../../support/client-test.ts'
import { occupy } from '../../support/occupy.ts'
import { retryMargins } from '../../support/recording-fetch.ts'
import { FILE_MODELS } from '../../support/shared-models.ts'

const NARROW_MODEL = FILE_MODELS['ai-sdk'].engine.model

const openai = ({ baseUrl, apiKey, fetch }: ClientAccess) => createOpenAI({ baseURL: baseUrl, apiKey, fetch })
const compatible = ({ baseUrl, apiKey, fetch }: ClientAccess) =>
  createOpenAICompatible({
    name: 'millrace',
    baseURL: baseUrl,
    apiKey,
    fetch,
    includeUsage: true,
    supportsStructuredOutputs: true,
  })
/** This interface requires a limit of the output, and the library knows only Anthropic's models. */
const limited = defaultSettingsMiddleware({ settings: { maxOutputTokens: 1_024 } })

const anthropic =
  ({ baseUrl, apiKey, fetch }: ClientAccess) =>
  (model: string) =>
    wrapLanguageModel({
      model: createAnthropic({ baseURL: baseUrl, apiKey, fetch })(model),
      middleware: limited,
    })

const PROVIDERS = [
  {
    name: '@ai-sdk/openai, Responses',
    path: '/v1/responses',
    showsReasoning: true,
    brokenStream: 'model_unavailable',
    connect: (access: ClientAccess) => (model: string) => openai(access)(model),
  },
  {
    name: '@ai-sdk/openai, chat',
    path: '/v1/chat/completions',
    // This provider ignores reasoning in chat completions.
    showsReasoning: false,
    brokenStream: 'upstream_error',
    connect: (access: ClientAccess) => (model: string) => openai(access).chat(model),
  },
  {
    name: '@ai-sdk/openai-compatible',
    path: '/v1/chat/completions',
    showsReasoning: true,
    brokenStream: 'upstream_error',
    connect: (access: ClientAccess) => (model: string) => compatible(access)(model),
  },
  {
    name: '@ai-sdk/anthropic',
    path: '/v1/messages',
    showsReasoning: true,
    brokenStream: 'upstream_error',
    connect: anthropic,
  },
]

const Weather = z.object({ city: z.string(), unit: z.enum(['celsius', 'fahrenheit']) })

describe.each(PROVIDERS)('$name', ({ path, showsReasoning, brokenStream, connect }) => {
  test('generates text, with the usage', async ({ access }) => {
    const of = connect(access)
    const result = await generateText({
      model: of('demo-chat'),
      instructions: 'Be brief.',
      prompt: 'Grüß dich! 🌾',
    })
    expect(result.text).toBe('You said: Grüß dich! 🌾\n\nBefore that:\nsystem: Be brief.')
    expect(result.finishReason).toBe('stop')
    expect(result.usage.inputTokens).toBeGreaterThan(0)
    expect(result.usage.outputTokens).toBeGreaterThan(0)
    expect(access.exchanges).toMatchObject([{ path, status: 200 }])
  })

  test('streams text in pieces, with the usage', async ({ access }) => {
    const of = connect(access)
    const result = streamText({ model: of('demo-chat'), prompt: LONG_TEXT })
    const pieces = await Array.fromAsync(result.textStream)
    expect(pieces.length).toBeGreaterThan(1)
    expect(pieces.join('')).toBe(`You said: ${LONG_TEXT}`)
    expect(await result.finishReason).toBe('stop')
    expect((await result.usage).outputTokens).toBeGreaterThan(0)
  })

  test('sees that the output limit cut the text', async ({ access }) => {
    const of = connect(access)
    const call = { model: of('demo-chat'), prompt: 'A long one, please.', maxOutputTokens: 16 }
    expect((await generateText({ ...call, prompt: 'Talk [[tokens=40]]' })).finishReason).toBe('length')
    const streamed = streamText({ ...call, prompt: 'Talk [[tokens=40]]' })
    await streamed.consumeStream()
    expect(await streamed.finishReason).toBe('length')
  })

  test('runs a loop of tools, whole and streamed', async ({ access }) => {
    const of = connect(access)
    const asked: unknown[] = []
    const call = {
      // This model writes reasoning. The library sends it back with the tool's result, or refers to it by its id.
      model: of('demo-reasoning'),
      prompt: 'What is the weather in Paris, and which time is it there?',
      stopWhen: isStepCount(5),
      tools: {
        get_weather: tool({
          inputSchema: Weather,
          execute: (input) => {
            asked.push(input)
            return 'sunny'
          },
        }),
        tell_time: tool({
          inputSchema: z.object({ city: z.string() }),
          execute: (input) => {
            asked.push(input)
            return 'noon'
          },
        }),
      },
    }
    const whole = await generateText(call)
    expect(whole.text).toBe('The tool says: sunny\nnoon')
    expect(whole.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop'])
    const streamed = streamText(call)
    expect((await Array.fromAsync(streamed.textStream)).join('')).toBe('The tool says: sunny\nnoon')
    expect((await streamed.steps).map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop'])
    const calls = [{ city: 'Paris', unit: 'celsius' }, { city: 'Paris' }]
    expect(asked).toEqual([...calls, ...calls])
    expect(access.exchanges.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })

  test('answers with a value of the schema, whole and streamed', async ({ access }) => {
    const of = connect(access)
    const call = {
      model: of('demo-chat'),
      prompt: 'In fahrenheit, please: how warm is Lisbon?',
      output: Output.object({ schema: Weather }),
    }
    const expected = { city: 'Lisbon', unit: 'fahrenheit' }
    expect((await generateText(call)).output).toEqual(expected)
    const streamed = streamText(call)
    const partial = await Array.fromAsync(streamed.partialOutputStream)
    expect(partial.at(-1)).toEqual(expected)
    expect(await streamed.output).toEqual(expected)
  })

  test('shows reasoning apart from the text where the provider reads it', async ({ access }) => {
    const of = connect(access)
    const call = { model: of('demo-reasoning'), prompt: 'Think!' }
    const whole = await generateText(call)
    expect(whole.text).toBe('You said: Think!')
    const streamed = streamText(call)
    expect((await Array.fromAsync(streamed.textStream)).join('')).toBe('You said: Think!')
    for (const reasoning of [whole.reasoningText, await streamed.reasoningText]) {
      if (showsReasoning) expect(reasoning).toMatch(/I answer/u)
      else expect(reasoning).toBeUndefined()
    }
  })

  test('goes on with a second turn', async ({ access }) => {
    const of = connect(access)
    // Without `store: false` the Responses provider refers to stored items of the first turn; a stateless service has
    // none.
    const call = { model: of('demo-chat'), providerOptions: { openai: { store: false } } }
    const question = { role: 'user' as const, content: 'First' }
    const first = await generateText({ ...call, messages: [question] })
    const messages = [question, ...first.responseMessages, { role: 'user' as const, content: 'Second' }]
    expect((await generateText({ ...call, messages })).text).toBe(
      'You said: Second\n\nBefore that:\nuser: First\nassistant: You said: First',
    )
  })

  test('maps errors to APICallError, and retries only those that may pass', async ({ access }) => {
    const of = connect(access)
    const ask = (model: string, maxRetries: number) =>
      generateText({ model: of(model), prompt: 'Hello', maxRetries }).catch((error: unknown) => error)
    const unknown = await ask('no/such-model', 2)
    expect(APICallError.isInstance(unknown) && unknown).toMatchObject({
      statusCode: 404,
      message: "Unknown model 'no/such-model'",
      isRetryable: false,
    })
    expect(access.exchanges).toHaveLength(1)
    const busy = await ask('test/busy', 0)
    expect(APICallError.isInstance(busy) && busy).toMatchObject({ statusCode: 429, isRetryable: true })
  })

  test('gets its answer from a busy model once there is room', async ({ hasty }) => {
    const of = connect(hasty)
    const { cluster, exchanges } = hasty
    await using occupied = await occupy(cluster, NARROW_MODEL)
    const answer = generateText({ model: of(NARROW_MODEL), prompt: 'Hello' })
    await expect.poll(() => exchanges.length).toBe(1)
    await occupied.release()
    expect((await answer).text).toBe('You said: Hello')
    expect(exchanges.map(({ status }) => status)).toEqual([429, 200])
    expect(Math.min(...retryMargins(exchanges))).toBeGreaterThan(-3)
  })

  test('has an error part where a stream breaks', async ({ access }) => {
    const of = connect(access)
    const seen: unknown[] = []
    const result = streamText({
      model: of('test/midstream-error'),
      prompt: 'Hello',
      onError: ({ error }) => void seen.push(error),
    })
    const parts = await Array.fromAsync(result.stream)
    expect(parts.filter(({ type }) => type === 'text-delta').length).toBeGreaterThan(0)
    expect(parts.filter(({ type }) => type === 'error')).toHaveLength(1)
    expect(JSON.stringify(seen)).toContain(brokenStream)
  })

  test('frees the engine when it is aborted', async ({ access, cluster, account }) => {
    const of = connect(access)
    const abort = new AbortController()
    const result = streamText({
      model: of(NARROW_MODEL),
      prompt: 'Talk [[tokens=4000]]',
      abortSignal: abort.signal,
    })
    const types = []
    for await (const { type } of result.stream) {
      types.push(type)
      if (type === 'text-delta') abort.abort()
    }
    expect(types.at(-1)).toBe('abort')
    const running = () =>
      cluster.metric(cluster.simulator, 'millrace_simulator_running', { model: NARROW_MODEL })
    await expect.poll(running, { timeout: 20_000 }).toBe(0)
    await expectBalancedBooks(cluster, [account])
  })
})

test('embeds one text and many, in order', async ({ access }) => {
  for (const model of [
    openai(access).embedding('demo-embed'),
    compatible(access).embeddingModel('demo-embed'),
  ]) {
    const values = ['a mill', 'a race', 'a river']
    const { embeddings, usage } = await embedMany({ model, values })
    expect(usage.tokens).toBeGreaterThan(0)
    const alone = await Promise.all(values.map(async (value) => (await embed({ model, value })).embedding))
    expect(embeddings).toEqual(alone)
    expect(new Set(embeddings.map(String)).size).toBe(3)
  }
})

test('keeps its reasoning in a tool loop of Responses, without stored responses', async ({ access }) => {
  const { text } = await generateText({
    model: openai(access)('demo-reasoning'),
    prompt: 'The weather, please',
    tools: { weather: tool({ inputSchema: z.object({}), execute: () => 'sunny' }) },
    stopWhen: isStepCount(2),
    providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
  })
  expect(text).toContain('sunny')
  const encrypted = expect.stringMatching(/^mrr1\./)
  expect(access.exchanges).toMatchObject([
    {},
    {
      body: {
        input: [
          { role: 'user' },
          { type: 'reasoning', encrypted_content: encrypted },
          { type: 'function_call' },
          { type: 'function_call_output' },
        ],
      },
      status: 200,
    },
  ])
})
