import OpenAI, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from 'openai'
import { expect } from 'vitest'
import { expectBalancedBooks } from '../../support/books.ts'
import { test, type ClientAccess } from '../../support/client-test.ts'
import { occupy } from '../../support/occupy.ts'
import { retryMargins } from '../../support/recording-fetch.ts'
import { FILE_MODELS } from '../../support/shared-models.ts'

const NARROW_MODEL = FILE_MODELS['openai-failures'].engine.model

const connect = ({ baseUrl, apiKey, fetch }: ClientAccess) =>
  new OpenAI({ baseURL: baseUrl, apiKey, fetch, maxRetries: 0 })

const messages = [{ role: 'user' as const, content: 'Hello' }]
const LONG = [{ role: 'user' as const, content: 'Talk [[tokens=4000]]' }]

/** Returns the error with which the promise rejects. Fails unless it is an API error of exactly this class. */
async function raised<E extends APIError>(
  Class: new (...args: never[]) => E,
  promise: PromiseLike<unknown>,
): Promise<E> {
  const error = await Promise.resolve(promise).then(
    () => expect.unreachable('it succeeded'),
    (reason: unknown) => reason,
  )
  if (!(error instanceof Class) || error.constructor !== Class) throw error
  return error
}

test('a wrong key raises AuthenticationError', async ({ access }) => {
  const stranger = new OpenAI({ baseURL: access.baseUrl, apiKey: 'wrong', maxRetries: 0 })
  for (const ask of [
    () => stranger.models.list(),
    () => stranger.responses.create({ model: 'demo-chat', input: 'x' }),
  ]) {
    const error = await raised(AuthenticationError, ask())
    expect(error).toMatchObject({ status: 401, code: 'invalid_key', type: 'api_error' })
  }
})

test('an unknown model raises NotFoundError at every operation', async ({ access }) => {
  const openai = connect(access)
  const model = 'no/such-model'
  for (const ask of [
    () => openai.chat.completions.create({ model, messages }),
    () => openai.chat.completions.create({ model, messages, stream: true }),
    () => openai.responses.create({ model, input: 'x' }),
    () => openai.completions.create({ model, prompt: 'x' }),
    () => openai.embeddings.create({ model, input: 'x' }),
    () => openai.models.retrieve(model),
  ]) {
    const error = await raised(NotFoundError, ask())
    expect(error).toMatchObject({ status: 404, code: 'model_not_found', type: 'api_error' })
    expect(error.message).toContain(`Unknown model '${model}'`)
  }
})

test('a bad field raises BadRequestError with the field’s name and the request’s id', async ({ access }) => {
  const openai = connect(access)
  for (const [ask, param] of [
    [() => openai.chat.completions.create({ model: 'demo-chat', messages, n: 9 }), 'n'],
    [() => openai.chat.completions.create({ model: 'demo-chat', messages, n: 9, stream: true }), 'n'],
    [
      () => openai.responses.create({ model: 'demo-chat', input: 'x', previous_response_id: 'resp_1' }),
      'previous_response_id',
    ],
  ] as const) {
    const error = await raised(BadRequestError, ask())
    expect(error).toMatchObject({ status: 400, code: 'invalid_request', type: 'api_error', param })
    expect(error.requestID).toMatch(/^[0-9a-f-]{36}$/u)
  }
})

test('a prompt beyond the context window is the caller’s mistake and costs nothing', async ({
  access,
  cluster,
  account,
}) => {
  const openai = connect(access)
  await expectBalancedBooks(cluster, [account])
  const before = await cluster.balance(account)
  const content = 'word '.repeat(40_000)
  const error = await raised(
    BadRequestError,
    openai.chat.completions.create({ model: 'demo-chat', messages: [{ role: 'user', content }] }),
  )
  expect(error).toMatchObject({ code: 'context_length_exceeded', param: 'messages' })
  expect(error.message).toMatch(
    /prompt is too long.*maximum context length is 32768 tokens; the prompt has \d{5}\.$/,
  )
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBe(before.posted)
})

test('without credits it raises APIError with status 402, and does not try again', async ({
  access: { cluster, baseUrl, fetch, exchanges },
}) => {
  const { apiKey } = await cluster.createAccount('0.000001')
  const poor = new OpenAI({ baseURL: baseUrl, apiKey, fetch })
  const error = await raised(APIError, poor.chat.completions.create({ model: 'demo-chat', messages }))
  expect(error).toMatchObject({ status: 402, code: 'insufficient_credits', type: 'api_error' })
  expect(exchanges).toHaveLength(1)
})

for (const { model, Class, status, code, onResponses } of [
  { model: 'test/busy', Class: RateLimitError, status: 429, code: 'model_busy' },
  { model: 'test/warming', Class: RateLimitError, status: 429, code: 'model_warming' },
  { model: 'test/unavailable', Class: InternalServerError, status: 503, code: 'model_unavailable' },
  {
    model: 'test/upstream-error',
    Class: InternalServerError,
    status: 502,
    code: 'upstream_error',
    onResponses: { status: 503, code: 'model_unavailable' },
  },
]) {
  test(`${model} raises ${Class.name}`, async ({ access }) => {
    const openai = connect(access)
    const chat = await raised(Class, openai.chat.completions.create({ model, messages }))
    expect(chat).toMatchObject({ status, code, type: 'api_error' })
    const streamed = await raised(Class, openai.chat.completions.create({ model, messages, stream: true }))
    expect(streamed).toMatchObject({ status, code, type: 'api_error' })
    const response = await raised(Class, openai.responses.create({ model, input: 'x' }))
    expect(response).toMatchObject({ type: 'api_error', ...(onResponses ?? { status, code }) })
  })
}

test('a busy model is retried after the time in its retry-after, as often as the client is set to', async ({
  access,
}) => {
  const openai = connect(access)
  const { exchanges } = access
  const call = openai.chat.completions.create({ model: 'test/busy', messages }, { maxRetries: 1 })
  await raised(RateLimitError, call)
  expect(exchanges.map(({ status }) => status)).toEqual([429, 429])
  expect(Math.min(...retryMargins(exchanges))).toBeGreaterThan(TIMER_EARLY_MS)
})

for (const stream of [false, true]) {
  test(`a busy model answers once there is room, ${stream ? 'streamed' : 'whole'}`, async ({ hasty }) => {
    const openai = connect(hasty)
    const { cluster, exchanges } = hasty
    await using occupied = await occupy(cluster, NARROW_MODEL)
    const options = { maxRetries: 5 }
    const call = { model: NARROW_MODEL, messages }
    const text = stream
      ? openai.chat.completions.stream(call, options).finalContent()
      : openai.chat.completions.create(call, options).then(({ choices }) => choices[0]?.message.content)
    await expect.poll(() => exchanges.length).toBe(1)
    await occupied.release()
    expect(await text).toBe('You said: Hello')
    expect(exchanges.map(({ status }) => status)).toEqual([429, 200])
    expect(Math.min(...retryMargins(exchanges))).toBeGreaterThan(TIMER_EARLY_MS)
  })
}

/** Timers count whole milliseconds, so a timer may fire this much too early. */
const TIMER_EARLY_MS = -3

test('a chat stream that breaks raises APIError after its first text, and costs nothing', async ({
  access,
  cluster,
  account,
}) => {
  const openai = connect(access)
  await expectBalancedBooks(cluster, [account])
  const before = await cluster.balance(account)
  const stream = await openai.chat.completions.create({
    model: 'test/midstream-error',
    messages,
    stream: true,
  })
  let text = ''
  const reading = (async () => {
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
  })()
  const error = await raised(APIError, reading)
  expect(error).toMatchObject({ code: 'upstream_error', type: 'api_error' })
  expect(text).not.toBe('')
  const helper = openai.chat.completions.stream({ model: 'test/midstream-error', messages })
  expect((await raised(APIError, helper.finalContent())).code).toBe('upstream_error')
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBe(before.posted)
})

test('a Responses stream that breaks raises APIError after its first text', async ({ access }) => {
  const openai = connect(access)
  const call = { model: 'test/midstream-error', input: 'Hello' }
  const stream = await openai.responses.create({ ...call, stream: true })
  let text = ''
  const reading = (async () => {
    for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta
  })()
  expect(await raised(APIError, reading)).toMatchObject({ code: 'model_unavailable', type: 'api_error' })
  expect(text).not.toBe('')
  const helper = openai.responses.stream(call)
  expect((await raised(APIError, helper.finalResponse())).code).toBe('model_unavailable')
})

test('leaving a stream frees the engine, and what was generated is charged', async ({
  access,
  cluster,
  account,
}) => {
  const openai = connect(access)
  const running = () =>
    cluster.metric(cluster.simulator, 'millrace_simulator_running', { model: NARROW_MODEL })
  const before = await cluster.balance(account)
  const chat = await openai.chat.completions.create({ model: NARROW_MODEL, messages: LONG, stream: true })
  for await (const chunk of chat) if (chunk.choices[0]?.delta.content) break
  await expect.poll(running, { timeout: 20_000 }).toBe(0)
  const response = await openai.responses.create({
    model: NARROW_MODEL,
    input: LONG,
    stream: true,
  })
  for await (const event of response) if (event.type === 'response.output_text.delta') break
  await expect.poll(running, { timeout: 20_000 }).toBe(0)
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBeLessThan(before.posted)
})

test('aborting a call that is not streamed frees the engine', async ({ access, cluster, account }) => {
  const openai = connect(access)
  const running = () =>
    cluster.metric(cluster.simulator, 'millrace_simulator_running', { model: NARROW_MODEL })
  const abort = new AbortController()
  const call = openai.chat.completions.create(
    { model: NARROW_MODEL, messages: LONG },
    { signal: abort.signal },
  )
  await expect.poll(running, { interval: 10 }).toBe(1)
  abort.abort()
  await raised(APIUserAbortError, call)
  await expect.poll(running, { timeout: 20_000 }).toBe(0)
  await expectBalancedBooks(cluster, [account])
})
