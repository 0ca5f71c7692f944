import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents'
import OpenAI from 'openai'
import { describe, expect } from 'vitest'
import { z } from 'zod'
import { expectBalancedBooks } from '../../support/books.ts'
import { test, type ClientAccess } from '../../support/client-test.ts'
import { occupy } from '../../support/occupy.ts'
import { retryMargins } from '../../support/recording-fetch.ts'
import { FILE_MODELS } from '../../support/shared-models.ts'

const NARROW_MODEL = FILE_MODELS.agents.engine.model

const Weather = z.object({ city: z.string(), unit: z.enum(['celsius', 'fahrenheit']) })
const weather = tool({
  name: 'get_weather',
  description: 'Tells the weather.',
  parameters: Weather,
  execute: ({ city, unit }) => `sunny in ${city}, ${unit}`,
})

describe.each([
  {
    name: 'OpenAIResponsesModel',
    useResponses: true,
    path: '/v1/responses',
    brokenStream: 'model_unavailable',
  },
  {
    name: 'OpenAIChatCompletionsModel',
    useResponses: false,
    path: '/v1/chat/completions',
    brokenStream: 'upstream_error',
  },
])('agents on $name', ({ useResponses, path, brokenStream }) => {
  const connect = ({ baseUrl, apiKey, fetch }: ClientAccess) =>
    new Runner({
      modelProvider: new OpenAIProvider({
        openAIClient: new OpenAI({ baseURL: baseUrl, apiKey, fetch }),
        useResponses,
      }),
      // Otherwise the library sends traces to OpenAI.
      tracingDisabled: true,
    })

  for (const stream of [false, true]) {
    const how = stream ? 'streamed' : 'whole'

    test(`an agent calls its tool, answers, and goes on from its history, ${how}`, async ({ access }) => {
      const runner = connect(access)
      // This model writes reasoning, which is in the history that the library sends back.
      const agent = new Agent({ name: 'Forecaster', model: 'demo-reasoning', tools: [weather] })
      const run = async (input: Parameters<typeof runner.run>[1] & (string | unknown[])) => {
        if (!stream) return await runner.run(agent, input)
        const streamed = await runner.run(agent, input, { stream: true })
        const text = (await Array.fromAsync(streamed.toTextStream())).join('')
        await streamed.completed
        expect(text).toBe(streamed.finalOutput)
        return streamed
      }
      const first = await run('What is the weather in Paris?')
      expect(first.finalOutput).toBe('The tool says: sunny in Paris, celsius')
      const second = await run([...first.history, { role: 'user', content: 'Thanks!' }])
      expect(second.finalOutput).toContain('You said: Thanks!')
      expect(second.finalOutput).toContain('user: What is the weather in Paris?')
      expect(second.finalOutput).toContain('assistant: The tool says: sunny in Paris, celsius')
      expect(access.exchanges.map((exchange) => [exchange.path, exchange.status])).toEqual([
        [path, 200],
        [path, 200],
        [path, 200],
      ])
    })

    test(`an agent with an output type calls its tool first and then answers in that type, ${how}`, async ({
      access,
    }) => {
      const runner = connect(access)
      const agent = new Agent({
        name: 'Forecaster',
        model: 'demo-chat',
        tools: [weather],
        outputType: Weather,
      })
      const question = 'In fahrenheit, please: what is the weather in Lisbon?'
      const result = stream
        ? await runner.run(agent, question, { stream: true })
        : await runner.run(agent, question)
      if ('completed' in result) await result.completed
      expect(result.finalOutput).toEqual({ city: 'Lisbon', unit: 'fahrenheit' })
      expect(result.newItems.map(({ type }) => type)).toEqual([
        'tool_call_item',
        'tool_call_output_item',
        'message_output_item',
      ])
    })
  }

  test('a busy model is asked again until there is room', async ({ hasty }) => {
    const { cluster, exchanges } = hasty
    await using occupied = await occupy(cluster, NARROW_MODEL)
    const agent = new Agent({ name: 'Patient', model: NARROW_MODEL })
    const answer = connect(hasty).run(agent, 'Hello')
    await expect.poll(() => exchanges.length).toBe(1)
    await occupied.release()
    expect((await answer).finalOutput).toBe('You said: Hello')
    expect(exchanges.map(({ status }) => status)).toEqual([429, 200])
    expect(Math.min(...retryMargins(exchanges))).toBeGreaterThan(-3)
  })

  test('a stream that breaks raises after its first text', async ({ access }) => {
    const agent = new Agent({ name: 'Unlucky', model: 'test/midstream-error' })
    const result = await connect(access).run(agent, 'Hello', { stream: true })
    let text = ''
    const reading = (async () => {
      for await (const piece of result.toTextStream()) text += piece
      await result.completed
    })()
    await expect(reading).rejects.toMatchObject({ code: brokenStream })
    expect(text).not.toBe('')
  })

  test('an aborted run frees the engine', async ({ access, cluster, account }) => {
    const abort = new AbortController()
    const agent = new Agent({ name: 'Talker', model: NARROW_MODEL })
    const options = { stream: true as const, signal: abort.signal }
    const result = await connect(access).run(agent, 'Talk [[tokens=4000]]', options)
    for await (const piece of result.toTextStream()) if (piece !== '') abort.abort()
    const running = () =>
      cluster.metric(cluster.simulator, 'millrace_simulator_running', { model: NARROW_MODEL })
    await expect.poll(running, { timeout: 20_000 }).toBe(0)
    await expectBalancedBooks(cluster, [account])
  })
})
