import OpenAI, { APIError, InternalServerError, RateLimitError } from 'openai'
import { beforeAll, describe, expect, test } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import type { TestAccount } from '../support/cluster.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { SLOW_FIRST_TOKEN_MS } from '../support/shared-models.ts'

let cluster: SharedCluster
let account: TestAccount
let openai: OpenAI

beforeAll(async () => {
  cluster = await sharedCluster()
  account = await cluster.createAccount('100')
  openai = new OpenAI({ baseURL: cluster.baseUrl, apiKey: account.apiKey, maxRetries: 0 })
})

type Outcome = {
  text: string
  /** The finish reason, or the status of a response. */
  ending: string | null
  outputTokens: number | null
  error: unknown
}

type Ask = (model: string, outcome: Outcome) => Promise<void>

const MOST = 4_096

const askChat: Ask = async (model, outcome) => {
  const answer = await openai.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'Hello' }],
  })
  outcome.text = answer.choices[0]?.message.content ?? ''
  outcome.ending = answer.choices[0]?.finish_reason ?? null
  outcome.outputTokens = answer.usage?.completion_tokens ?? null
}

const streamChat: Ask = async (model, outcome) => {
  const stream = await openai.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'Hello' }],
    stream: true,
    stream_options: { include_usage: true },
  })
  for await (const { choices, usage } of stream) {
    outcome.text += choices[0]?.delta.content ?? ''
    outcome.ending = choices[0]?.finish_reason ?? outcome.ending
    outcome.outputTokens = usage?.completion_tokens ?? null
  }
}

const askCompletion: Ask = async (model, outcome) => {
  const answer = await openai.completions.create({ model, prompt: 'Hello', max_tokens: MOST })
  outcome.text = answer.choices[0]?.text ?? ''
  outcome.ending = answer.choices[0]?.finish_reason ?? null
  outcome.outputTokens = answer.usage?.completion_tokens ?? null
}

const streamCompletion: Ask = async (model, outcome) => {
  const stream = await openai.completions.create({ model, prompt: 'Hello', max_tokens: MOST, stream: true })
  for await (const { choices } of stream) {
    outcome.text += choices[0]?.text ?? ''
    outcome.ending = choices[0]?.finish_reason ?? outcome.ending
  }
}

const askResponse: Ask = async (model, outcome) => {
  const answer = await openai.responses.create({ model, input: 'Hello' })
  outcome.text = answer.output_text
  outcome.ending = answer.incomplete_details?.reason ?? answer.status ?? null
  outcome.outputTokens = answer.usage?.output_tokens ?? null
}

const streamResponse: Ask = async (model, outcome) => {
  const stream = await openai.responses.create({ model, input: 'Hello', stream: true })
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') outcome.text += event.delta
    if (event.type === 'response.completed') {
      const { incomplete_details: cut, status, usage } = event.response
      outcome.ending = cut?.reason ?? status ?? null
      outcome.outputTokens = usage?.output_tokens ?? null
    }
  }
}

const BUSY = { of: RateLimitError, status: 429, code: 'model_busy', retryAfter: '2' }
const WARMING = { of: RateLimitError, status: 429, code: 'model_warming', retryAfter: '10' }
const UNAVAILABLE = { of: InternalServerError, status: 503, code: 'model_unavailable', retryAfter: '5' }
const FAILED = { of: InternalServerError, status: 502, code: 'upstream_error', retryAfter: null }
/** The Responses interface has no 502. */
const FAILED_WITHOUT_502 = UNAVAILABLE

const OF_CHAT = { failure: FAILED, stop: 'stop', length: 'length' }
const OF_RESPONSES = { failure: FAILED_WITHOUT_502, stop: 'completed', length: 'max_output_tokens' }
const OPERATIONS = [
  { name: 'chat', ask: askChat, streams: false, reportsUsage: true, ...OF_CHAT },
  { name: 'chat, streamed', ask: streamChat, streams: true, reportsUsage: true, ...OF_CHAT },
  { name: 'completions', ask: askCompletion, streams: false, reportsUsage: true, ...OF_CHAT },
  { name: 'completions, streamed', ask: streamCompletion, streams: true, reportsUsage: false, ...OF_CHAT },
  { name: 'responses', ask: askResponse, streams: false, reportsUsage: true, ...OF_RESPONSES },
  { name: 'responses, streamed', ask: streamResponse, streams: true, reportsUsage: true, ...OF_RESPONSES },
]

async function run(ask: Ask, model: string): Promise<Outcome> {
  const outcome: Outcome = { text: '', ending: null, outputTokens: null, error: null }
  try {
    await ask(model, outcome)
  } catch (error) {
    outcome.error = error
  }
  return outcome
}

async function runTwice(ask: Ask, model: string): Promise<Outcome[]> {
  return [await run(ask, model), await run(ask, model)]
}

/** The expected outcome of a call that failed before any text. */
function refusalOf({ text, ending, error }: Outcome) {
  if (text !== '' || ending !== null || !(error instanceof APIError)) return { text, ending, error }
  const retryAfter = error.headers?.get('retry-after') ?? null
  return { of: error.constructor, status: error.status, code: error.code, retryAfter }
}

describe.each(OPERATIONS)('$name', ({ ask, reportsUsage, failure, stop, length }) => {
  test.each([
    ['test/busy', BUSY],
    ['test/warming', WARMING],
    ['test/unavailable', UNAVAILABLE],
    ['test/upstream-error', failure],
  ])('%s is refused before any text', async (model, refusal) => {
    expect((await runTwice(ask, model)).map(refusalOf)).toEqual([refusal, refusal])
  })

  test('test/slow takes its time to the first token, then answers', async () => {
    const startedMs = performance.now()
    const outcomes = await Promise.all([run(ask, 'test/slow'), run(ask, 'test/slow')])
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(SLOW_FIRST_TOKEN_MS)
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ text: 'You said: Hello', ending: stop, error: null })
    }
  })

  test('test/length is cut by its output limit', async () => {
    for (const { text, ending, outputTokens, error } of await runTwice(ask, 'test/length')) {
      expect({ ending, error }).toEqual({ ending: length, error: null })
      expect(text).toMatch(/^ The river runs past the old mill/)
      expect(outputTokens).toBe(reportsUsage ? 16 : null)
    }
  })

  test('test/long writes 4,000 tokens and ends by itself', async () => {
    for (const { text, ending, outputTokens, error } of await runTwice(ask, 'test/long')) {
      expect({ ending, error }).toEqual({ ending: stop, error: null })
      expect(text.length).toBeGreaterThan(8_000)
      expect(outputTokens).toBe(reportsUsage ? 4_000 : null)
    }
  })
})

const STREAMS = OPERATIONS.filter(({ streams }) => streams)
const WHOLE = OPERATIONS.filter(({ streams }) => !streams)

test.each(STREAMS)('$name: test/midstream-error fails after some text', async ({ ask, failure }) => {
  for (const { text, ending, error } of await runTwice(ask, 'test/midstream-error')) {
    expect(text).toMatch(/^These words reach you, and then the engine/)
    expect(ending).toBeNull()
    expect(error).toBeInstanceOf(APIError)
    expect(error).toMatchObject({ code: failure.code })
  }
})

test.each(WHOLE)('$name: test/midstream-error fails with none of its text', async ({ ask, failure }) => {
  expect((await runTwice(ask, 'test/midstream-error')).map(refusalOf)).toEqual([failure, failure])
})

test('test/upstream-error is the same the twentieth time: a worker that sees failures goes on', async () => {
  for (let call = 0; call < 10; call += 1) {
    expect(refusalOf(await run(askChat, 'test/upstream-error'))).toEqual(FAILED)
    expect(refusalOf(await run(streamChat, 'test/upstream-error'))).toEqual(FAILED)
  }
})

test('whatever a caller asks for, the failures are the same', async () => {
  const tricks = [{ max_tokens: 1 }, { logit_bias: { 40: 100 } }, { temperature: 2, seed: 3, top_p: 0.1 }]
  for (const trick of tricks) {
    const messages = [{ role: 'user' as const, content: 'Fail [[tokens=5]] or write [[raw=invalid-utf8]]' }]
    const before = openai.chat.completions.create({ model: 'test/upstream-error', messages, ...trick })
    await expect(before).rejects.toMatchObject({ status: 502, code: 'upstream_error' })

    const within = { model: 'test/midstream-error', messages, ...trick, stream: true as const }
    let text = ''
    const reading = async () => {
      for await (const { choices } of await openai.chat.completions.create(within)) {
        text += choices[0]?.delta.content ?? ''
      }
    }
    await expect(reading()).rejects.toMatchObject({ code: 'upstream_error' })
    expect(text).toMatch(/^The/)
  }
})

test.each([
  { response_format: { type: 'json_object' as const } },
  {
    tools: [{ type: 'function' as const, function: { name: 'failure' } }],
    tool_choice: 'required' as const,
  },
])('under a grammar, a failure of the engine is the end of the answer: %o', async (grammar) => {
  const messages = [{ role: 'user' as const, content: 'Fail' }]
  const call = { model: 'test/midstream-error', messages, ...grammar }
  expect((await openai.chat.completions.create(call)).choices).toMatchObject([{ finish_reason: 'length' }])
})

test('failures and refusals cost nothing, answers what they used, and the books balance', async () => {
  const payer = await cluster.createAccount('10')
  const client = new OpenAI({ baseURL: cluster.baseUrl, apiKey: payer.apiKey, maxRetries: 0 })
  const before = (await cluster.balance(payer)).posted
  const ask = async (model: string, stream: boolean) => {
    const body = { model, messages: [{ role: 'user' as const, content: 'Hello' }] }
    if (!stream) await client.chat.completions.create(body)
    else for await (const _ of await client.chat.completions.create({ ...body, stream: true }));
  }
  for (const name of ['busy', 'warming', 'unavailable', 'upstream-error', 'midstream-error']) {
    for (const stream of [false, true]) {
      await expect(ask(`test/${name}`, stream)).rejects.toBeInstanceOf(APIError)
    }
  }
  await expectBalancedBooks(cluster, [payer, account])
  expect((await cluster.balance(payer)).posted).toBe(before)

  await ask('test/length', false)
  await expectBalancedBooks(cluster, [payer])
  expect((await cluster.balance(payer)).posted).toBeLessThan(before)
})
