import Anthropic, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from '@anthropic-ai/sdk'
import { expect } from 'vitest'
import { expectBalancedBooks } from '../../support/books.ts'
import { test, type ClientAccess } from '../../support/client-test.ts'

const connect = ({ baseUrl, apiKey, fetch }: ClientAccess) =>
  new Anthropic({ baseURL: baseUrl.replace(/\/v1$/, ''), apiKey, authToken: null, fetch, maxRetries: 0 })

const hello = {
  model: 'demo-chat',
  max_tokens: 1_024,
  messages: [{ role: 'user' as const, content: 'Hello!' }],
}

test('failures are the errors of the client, with our statuses', async ({ access }) => {
  const anthropic = connect(access)
  const stranger = connect({ ...access, apiKey: 'wrong' })
  const cases = [
    [AuthenticationError, 401, 'authentication_error', () => stranger.messages.create(hello)],
    [NotFoundError, 404, 'not_found_error', () => anthropic.messages.create({ ...hello, model: 'no/such' })],
    [
      RateLimitError,
      429,
      'rate_limit_error',
      () => anthropic.messages.create({ ...hello, model: 'test/busy' }),
    ],
    [
      InternalServerError,
      503,
      'overloaded_error',
      () => anthropic.messages.create({ ...hello, model: 'test/unavailable' }),
    ],
    [
      InternalServerError,
      502,
      'api_error',
      () => anthropic.messages.create({ ...hello, model: 'test/upstream-error', stream: true }),
    ],
    [
      BadRequestError,
      400,
      'invalid_request_error',
      () =>
        anthropic.messages.create({
          ...hello,
          messages: [{ role: 'user', content: 'word '.repeat(40_000) }],
        }),
    ],
  ] as const
  for (const [Class, status, type, ask] of cases) {
    const error = await ask().then(
      () => expect.unreachable('it succeeded'),
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(Class)
    expect(error).toMatchObject({ status, type, error: { type: 'error', error: { type } } })
  }
  expect(access.exchanges.map(({ retryAfterS }) => retryAfterS !== null)).toEqual([
    false,
    false,
    true,
    true,
    false,
    false,
  ])
})

test('an account without credits gets a billing error', async ({ access }) => {
  const { apiKey } = await access.cluster.createAccount('0.000001')
  const poor = connect({ ...access, apiKey })
  await expect(poor.messages.create(hello)).rejects.toMatchObject({ status: 402, type: 'billing_error' })
})

test('a stream that breaks throws the error that it carries, and costs nothing', async ({
  access,
  cluster,
  account,
}) => {
  const anthropic = connect(access)
  await expectBalancedBooks(cluster, [account])
  const before = await cluster.balance(account)
  const stream = await anthropic.messages.create({ ...hello, model: 'test/midstream-error', stream: true })
  let text = ''
  const reading = (async () => {
    for await (const event of stream) {
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text
    }
  })()
  await expect(reading).rejects.toMatchObject({ type: 'api_error' })
  await expect(reading).rejects.toBeInstanceOf(APIError)
  expect(text).not.toBe('')
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBe(before.posted)
})
