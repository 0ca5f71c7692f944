// The earlier major version of the AI SDK, which npm installs on Node 20.
import { generateText, stepCountIs, streamText, tool } from 'ai-6'
import { createAnthropic } from 'ai-6-anthropic'
import { createOpenAI } from 'ai-6-openai'
import { createOpenAICompatible } from 'ai-6-openai-compatible'
import { describe, expect } from 'vitest'
import { z } from 'zod'
import { test, type ClientAccess } from '../../support/client-test.ts'

type Connect = (access: ClientAccess) => Parameters<typeof generateText>[0]['model']

const MODEL = 'demo-reasoning'
const PROVIDERS: readonly (readonly [string, Connect])[] = [
  [
    '@ai-sdk/openai 3, Responses',
    ({ baseUrl: baseURL, ...access }) => createOpenAI({ ...access, baseURL })(MODEL),
  ],
  [
    '@ai-sdk/openai 3, chat',
    ({ baseUrl: baseURL, ...access }) => createOpenAI({ ...access, baseURL }).chat(MODEL),
  ],
  [
    '@ai-sdk/openai-compatible 2',
    ({ baseUrl: baseURL, ...access }) =>
      createOpenAICompatible({ ...access, baseURL, name: 'millrace' })(MODEL),
  ],
  [
    '@ai-sdk/anthropic 3',
    ({ baseUrl: baseURL, ...access }) => createAnthropic({ ...access, baseURL })(MODEL),
  ],
]

describe.each(PROVIDERS)('%s', (_, connect) => {
  test('runs a loop of tools with reasoning, whole and streamed, and goes on with a second turn', async ({
    access,
  }) => {
    const question = { role: 'user' as const, content: 'What is the weather in Paris?' }
    const call = {
      model: connect(access),
      maxOutputTokens: 1_024,
      providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
      stopWhen: stepCountIs(5),
      tools: {
        get_weather: tool({
          inputSchema: z.object({ city: z.string() }),
          execute: ({ city }) => `sunny in ${city}`,
        }),
      },
    }
    const whole = await generateText({ ...call, messages: [question] })
    expect(whole.text).toBe('The tool says: sunny in Paris')
    expect(whole.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop'])
    const streamed = streamText({ ...call, messages: [question] })
    expect((await Array.fromAsync(streamed.textStream)).join('')).toBe('The tool says: sunny in Paris')
    const messages = [question, ...whole.response.messages, { role: 'user' as const, content: 'Thanks!' }]
    expect((await generateText({ ...call, messages })).text).toMatch(/^You said: Thanks!/)
    expect(access.exchanges.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  })
})
