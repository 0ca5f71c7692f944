import { describe, expect } from 'vitest'
import { z } from 'zod'
import { test, type ClientAccess } from '../../support/client-test.ts'

const TOKENS = 24
const PROMPT = 'the of and to in'
const USAGE = { include_usage: true, continuous_usage_stats: true }
const parts = [{ role: 'user', content: [{ type: 'text', text: PROMPT }] }]

/** The request bodies of load tools, copied from their sources. All of them stream. */
const BODIES = [
  {
    tool: 'GuideLLM on chat',
    path: '/chat/completions',
    body: {
      stream_options: USAGE,
      max_completion_tokens: TOKENS,
      stop: null,
      ignore_eos: true,
      messages: parts,
    },
  },
  {
    tool: 'GuideLLM on legacy completions',
    path: '/completions',
    body: { stream_options: USAGE, max_tokens: TOKENS, stop: null, ignore_eos: true, prompt: PROMPT },
  },
  {
    tool: 'AIPerf',
    path: '/chat/completions',
    body: {
      messages: [{ role: 'user', name: 'text', content: PROMPT }],
      max_completion_tokens: TOKENS,
      stream_options: { include_usage: true },
    },
  },
  {
    tool: 'AIPerf with a fixed length',
    path: '/chat/completions',
    body: {
      messages: [{ role: 'user', content: PROMPT }],
      max_completion_tokens: TOKENS,
      ignore_eos: true,
      min_tokens: TOKENS,
      stream_options: USAGE,
    },
  },
  {
    tool: 'vllm bench serve on chat',
    path: '/chat/completions',
    body: {
      messages: parts,
      max_completion_tokens: TOKENS,
      ignore_eos: true,
      stream_options: { include_usage: true },
    },
  },
  {
    tool: 'vllm bench serve on legacy completions',
    path: '/completions',
    body: {
      prompt: PROMPT,
      repetition_penalty: 1,
      max_tokens: TOKENS,
      logprobs: null,
      ignore_eos: true,
      stream_options: { include_usage: true },
    },
  },
]

const Chunk = z.object({
  choices: z.array(
    z.object({ text: z.string().optional(), delta: z.object({ content: z.string().optional() }).optional() }),
  ),
  usage: z.object({ prompt_tokens: z.int(), completion_tokens: z.int() }).nullish(),
})

describe.each(BODIES)('$tool', ({ path, body }) => {
  test('gets a stream of the asked length', async ({ access }) => {
    const { status, events } = await stream(access, path, body)
    expect([status, events.at(-1)]).toEqual([200, 'data: [DONE]'])
    const chunks = events.slice(0, -1).map((event) => Chunk.parse(JSON.parse(event.slice('data: '.length))))
    const texts = chunks.flatMap(({ choices }) =>
      choices.map(({ text, delta }) => text ?? delta?.content ?? ''),
    )
    expect(texts.join('')).not.toBe('')
    const tokens = chunks.at(-1)?.usage?.completion_tokens
    // Legacy streams have no usage; without `ignore_eos` the model ends by itself.
    const isLegacy = path === '/completions'
    expect(tokens === undefined).toBe(isLegacy)
    expect(tokens === TOKENS).toBe(!isLegacy && 'ignore_eos' in body)
  })
})

async function stream({ baseUrl, apiKey, fetch }: ClientAccess, path: string, body: object) {
  const response = await fetch(baseUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-chat', stream: true, ...body }),
  })
  const text = await response.text()
  return { status: response.status, events: text.split('\n\n').filter((event) => event.startsWith('data: ')) }
}
