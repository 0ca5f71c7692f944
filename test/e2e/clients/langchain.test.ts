import { ContextOverflowError } from '@langchain/core/errors'
import { AIMessageChunk, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI, OpenAIEmbeddings, type ChatOpenAIFields } from '@langchain/openai'
import { describe, expect } from 'vitest'
import { z } from 'zod'
import { expectBalancedBooks } from '../../support/books.ts'
import { LONG_TEXT, test, type ClientAccess } from '../../support/client-test.ts'
import { occupy } from '../../support/occupy.ts'
import { retryMargins } from '../../support/recording-fetch.ts'
import { FILE_MODELS } from '../../support/shared-models.ts'

const NARROW_MODEL = FILE_MODELS.langchain.engine.model

const Weather = z.object({ city: z.string(), unit: z.enum(['celsius', 'fahrenheit']) })
const weather = tool(({ city }) => `sunny in ${city}`, {
  name: 'get_weather',
  description: 'Tells the weather.',
  schema: Weather,
})

describe.each([
  { name: 'ChatOpenAI on chat completions', useResponsesApi: false, brokenStream: 'upstream_error' },
  { name: 'ChatOpenAI on Responses', useResponsesApi: true, brokenStream: 'model_unavailable' },
])('$name', ({ useResponsesApi, brokenStream }) => {
  const connect = ({ baseUrl, apiKey, fetch }: ClientAccess, fields: ChatOpenAIFields = {}) =>
    new ChatOpenAI({
      model: 'demo-chat',
      apiKey,
      useResponsesApi,
      configuration: { baseURL: baseUrl, fetch },
      ...fields,
    })

  test('invokes, with the usage', async ({ access }) => {
    const message = await connect(access).invoke([
      new SystemMessage('Be brief.'),
      new HumanMessage('Grüß dich! 🌾'),
    ])
    expect(message.text).toBe('You said: Grüß dich! 🌾\n\nBefore that:\nsystem: Be brief.')
    expect(message).toMatchObject({ usage_metadata: { output_tokens: expect.any(Number) } })
    expect(access.exchanges.map(({ path }) => path)).toEqual([
      useResponsesApi ? '/v1/responses' : '/v1/chat/completions',
    ])
  })

  test('streams pieces that add up', async ({ access }) => {
    const pieces = await Array.fromAsync(await connect(access).stream(LONG_TEXT))
    expect(pieces.filter(({ text }) => text !== '').length).toBeGreaterThan(1)
    expect(pieces.map(({ text }) => text).join('')).toBe(`You said: ${LONG_TEXT}`)
  })

  for (const streamed of [false, true]) {
    test(`calls a tool and answers its result, ${streamed ? 'streamed' : 'whole'}`, async ({ access }) => {
      // This model writes reasoning, which the library sends back with the tool's result.
      const model = connect(access, { model: 'demo-reasoning' }).bindTools([weather])
      const ask = async (messages: Parameters<typeof model.invoke>[0]) =>
        streamed ? added(await Array.fromAsync(await model.stream(messages))) : await model.invoke(messages)
      const question = new HumanMessage('What is the weather in Paris?')
      const first = await ask([question])
      expect(first.tool_calls).toMatchObject([
        { name: 'get_weather', args: { city: 'Paris', unit: 'celsius' } },
      ])
      const results = await Promise.all((first.tool_calls ?? []).map((call) => weather.invoke(call)))
      expect(results[0]).toBeInstanceOf(ToolMessage)
      const answer = await ask([question, first, ...results])
      expect(answer.text).toBe('The tool says: sunny in Paris')
    })
  }

  for (const method of ['jsonSchema', 'functionCalling'] as const) {
    test(`answers with a value of the schema by ${method}`, async ({ access }) => {
      const model = connect(access).withStructuredOutput(Weather, { method, name: 'report' })
      const answer = await model.invoke('In fahrenheit, please: how warm is Lisbon?')
      expect(answer).toEqual({ city: 'Lisbon', unit: 'fahrenheit' })
    })
  }

  test('gets its answer from a busy model once there is room', async ({ hasty }) => {
    const { cluster, exchanges } = hasty
    await using occupied = await occupy(cluster, NARROW_MODEL)
    const answer = connect(hasty, { model: NARROW_MODEL }).invoke('Hello')
    await expect.poll(() => exchanges.length).toBe(1)
    await occupied.release()
    expect((await answer).text).toBe('You said: Hello')
    expect(exchanges.map(({ status }) => status)).toEqual([429, 200])
    expect(Math.min(...retryMargins(exchanges))).toBeGreaterThan(-3)
  })

  test('raises errors that cannot pass at once, and does not retry', async ({ access }) => {
    const unknown = connect(access, { model: 'no/such-model' }).invoke('Hello')
    await expect(unknown).rejects.toMatchObject({ status: 404, lc_error_code: 'MODEL_NOT_FOUND' })
    const stranger = connect(access, { apiKey: 'wrong' }).invoke('Hello')
    await expect(stranger).rejects.toMatchObject({ status: 401, lc_error_code: 'MODEL_AUTHENTICATION' })
    for (const content of ['word '.repeat(40_000), 'word '.repeat(2_000_000)]) {
      await expect(connect(access).invoke(content)).rejects.toBeInstanceOf(ContextOverflowError)
    }
    expect(access.exchanges.map(({ status }) => status)).toEqual([404, 401, 400, 400])
  })

  test('raises after the first text where a stream breaks', async ({ access }) => {
    const stream = await connect(access, { model: 'test/midstream-error' }).stream('Hello')
    let text = ''
    const reading = (async () => {
      for await (const piece of stream) text += piece.text
    })()
    await expect(reading).rejects.toMatchObject({ code: brokenStream })
    expect(text).not.toBe('')
  })

  test('frees the engine when its stream is left', async ({ access, cluster, account }) => {
    const model = connect(access, { model: NARROW_MODEL })
    for await (const { text } of await model.stream('Talk [[tokens=4000]]')) if (text !== '') break
    const running = () =>
      cluster.metric(cluster.simulator, 'millrace_simulator_running', { model: NARROW_MODEL })
    await expect.poll(running, { timeout: 20_000 }).toBe(0)
    await expectBalancedBooks(cluster, [account])
  })
})

test('OpenAIEmbeddings embeds a query and documents, in order', async ({ access }) => {
  const { baseUrl, apiKey, fetch } = access
  const embeddings = new OpenAIEmbeddings({
    model: 'demo-embed',
    apiKey,
    configuration: { baseURL: baseUrl, fetch },
  })
  const texts = ['a mill', 'a race', 'a river']
  const vectors = await embeddings.embedDocuments(texts)
  expect(vectors).toEqual(await Promise.all(texts.map((text) => embeddings.embedQuery(text))))
  expect(new Set(vectors.map(String)).size).toBe(3)
})

function added(pieces: readonly AIMessageChunk[]): AIMessageChunk {
  const [first, ...rest] = pieces
  if (first === undefined) throw new Error('the stream was empty')
  return rest.reduce((sum, piece) => sum.concat(piece), first)
}
