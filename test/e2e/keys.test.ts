import { APIError, OpenAI } from 'openai'
import { Client } from 'pg'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { InputOf } from '#libs/admin-contract/operation.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { demoPrices } from '../support/catalog.ts'
import type { TestAccount } from '../support/cluster.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { startChatOk } from '../support/start-chat.ts'

const SLOW = 'millrace/demo-chat'

/**
 * Gateways use a known key for 60 s without a look-up, so only billing's push can change it earlier. Billing pushes
 * when it receives the notification of the change. It does not wait for its next query, which comes up to 5 s later;
 * pooler.test.ts tests that.
 */
const PUSHED = { timeout: 4_000, interval: 20 }

let cluster: SharedCluster
let account: TestAccount

beforeAll(async () => {
  cluster = await sharedCluster()
  account = await cluster.createAccount('100')
})
afterEach(async () => await expectBalancedBooks(cluster, [account]))

type TestKey = { id: string; secret: string }

type Limits = Omit<InputOf<typeof ADMIN.changeKey>, 'key'>

async function createKey(limits: Limits = {}): Promise<TestKey> {
  return await cluster.admin.call(ADMIN.createKey, { account: account.id, ...limits })
}

const changeKey = async ({ id }: TestKey, limits: Limits) =>
  await cluster.admin.call(ADMIN.changeKey, { key: id, ...limits })

const clientsOf = ({ secret }: { secret: string }) =>
  cluster.gateways.map(({ baseUrl }) => new OpenAI({ baseURL: baseUrl, apiKey: secret, maxRetries: 0 }))

type Asked = { status: number; code?: unknown; message?: string; retryAfter?: number }

/** Returns one short answer, or its refusal. */
const ask = async (client: OpenAI | undefined, model = 'demo-chat') =>
  await outcomeOf(
    client?.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: 8,
    }),
  )

async function outcomeOf(asking: PromiseLike<unknown> | undefined): Promise<Asked> {
  if (asking === undefined) throw new Error('there is no such gateway')
  try {
    await asking
    return { status: 200 }
  } catch (error) {
    if (!(error instanceof APIError)) throw error
    const { status, code, message, headers } = error
    const retryAfter = headers?.get('retry-after')
    return { status, code, message, ...(retryAfter && { retryAfter: Number(retryAfter) }) }
  }
}

const askEverywhere = async (key: TestKey, model?: string) =>
  await Promise.all(clientsOf(key).map(async (client) => await ask(client, model)))

/**
 * Returns the different statuses that each gateway's own check and its call to billing give: a single status if all
 * agree.
 */
async function statuses(key: TestKey): Promise<number[]> {
  const listing = clientsOf(key).map(async (client) => await outcomeOf(client.models.list()))
  const answers = [...(await Promise.all(listing)), ...(await askEverywhere(key))]
  return [...new Set(answers.map(({ status }) => status))]
}

const listEverywhere = async (key: TestKey) =>
  await Promise.all(
    clientsOf(key).map(async (client) => (await client.models.list()).data.map(({ id }) => id).toSorted()),
  )

const OK = [{ status: 200 }, { status: 200 }]

/** Runs a statement as the database's owner, so that no gateway is notified. */
async function query(text: string, values: unknown[] = []): Promise<void> {
  const client = new Client({ connectionString: cluster.databaseUrl })
  await client.connect()
  try {
    await client.query(text, values)
  } finally {
    await client.end()
  }
}

test("a key's list of models is what its clients see and use, at every gateway, as soon as it changes", async () => {
  const [key, other] = [await createKey({ models: ['demo-chat'] }), await createKey()]
  expect(await listEverywhere(key)).toEqual([['demo-chat'], ['demo-chat']])
  expect(await askEverywhere(key)).toEqual(OK)
  const missing = { status: 404, code: 'model_not_found', message: `404 Unknown model '${SLOW}'` }
  expect(await askEverywhere(key, SLOW)).toEqual([missing, missing])

  await changeKey(key, { models: [SLOW] })
  await expect.poll(() => listEverywhere(key), PUSHED).toEqual([[SLOW], [SLOW]])
  expect(await askEverywhere(key, SLOW)).toEqual(OK)
  expect(await askEverywhere(key)).toMatchObject([{ status: 404 }, { status: 404 }])

  await changeKey(key, { models: null })
  await expect.poll(() => listEverywhere(key), PUSHED).toEqual(await listEverywhere(other))
  expect(await askEverywhere(key)).toEqual(OK)
  expect(await askEverywhere(other, SLOW)).toEqual(OK)
})

test('a spend limit answers 402 and says that it is the limit of the key, while other keys work', async () => {
  const [key, other] = [
    await createKey({ spendLimit: { amountNano: '1', period: 'day' } }),
    await createKey(),
  ]
  const refused = {
    status: 402,
    code: 'insufficient_credits',
    message: expect.stringContaining('The spend limit of this API key'),
  }
  expect(await askEverywhere(key)).toEqual([refused, refused])
  expect(await askEverywhere(other)).toEqual(OK)
})

test('a spend limit counts what running requests hold, at whatever gateway they run', async () => {
  // The limit pays for less output than a hold expects, so the hold takes all of the limit.
  const limit = priceTokens({ input: 100, cachedInput: 0, output: 240 }, demoPrices(SLOW))
  const key = await createKey({ spendLimit: { amountNano: limit.toString(), period: 'total' } })
  const { answer, firstText } = startChatOk({
    baseUrl: cluster.baseUrl,
    apiKey: key.secret,
    model: SLOW,
    // This costs more than the limit leaves, so the hold takes the whole limit. The answer takes longer than a request
    // waits for credits at the gateway that is asked next.
    content: 'Talk [[tokens=230]]',
    fields: { max_tokens: 2_000 },
  })
  await firstText
  const hasty = new OpenAI({ baseURL: cluster.hastyGateway.baseUrl, apiKey: key.secret, maxRetries: 0 })
  expect(await ask(hasty, SLOW)).toEqual({
    status: 402,
    code: 'insufficient_credits',
    message: expect.stringMatching(/The spend limit of this API key .* [\d.]+ are held by running requests/),
  })
  expect((await answer).finishReason).toBe('stop')
  await expect.poll(() => ask(clientsOf(key)[1], SLOW)).toEqual({ status: 200 })
})

test.each([
  ['requests', { requestsPerMinute: 2 }, 2],
  // The grant that reaches the limit may exceed it.
  ['tokens', { tokensPerMinute: 3 }, 1],
])(
  'a rate of %s answers 429 at every gateway until its minute is over, and says that it is the rate of the key',
  async (_, limits, granted) => {
    const [key, other] = [await createKey(limits), await createKey()]
    // The whole test must run within one minute.
    await expect.poll(() => secondsOfMinuteLeft(), { timeout: 30_000, interval: 500 }).toBeGreaterThan(20)
    for (let index = 0; index < granted; index += 1) {
      expect(await ask(clientsOf(key)[index])).toEqual({ status: 200 })
    }
    const before = secondsOfMinuteLeft()
    const answers = await askEverywhere(key)
    for (const { retryAfter, ...refused } of answers) {
      expect(refused).toEqual({
        status: 429,
        code: 'model_busy',
        message: '429 This API key has used up its rate for this minute.',
      })
      expect(retryAfter).toBeLessThanOrEqual(before)
      // Longer times are sent as 59.
      expect(retryAfter).toBeGreaterThanOrEqual(Math.min(59, secondsOfMinuteLeft()))
    }
    expect(answers).toHaveLength(2)
    expect(await askEverywhere(other)).toEqual(OK)

    // The test moves the counted minute into the past.
    await query(`update key_rates set minute = minute - interval '1 minute' where key_id = $1`, [key.id])
    expect(await ask(clientsOf(key)[1])).toEqual({ status: 200 })
  },
)

test('a disabled key is refused at every gateway after a push, and works again when it is enabled', async () => {
  const key = await createKey()
  expect(await statuses(key)).toEqual([200])
  await cluster.admin.call(ADMIN.disableKey, { key: key.id })
  await expect.poll(() => statuses(key), PUSHED).toEqual([401])
  await cluster.admin.call(ADMIN.enableKey, { key: key.id })
  await expect.poll(() => statuses(key), PUSHED).toEqual([200])
})

test('a revoked key is refused at every gateway after a push', async () => {
  const key = await createKey()
  expect(await statuses(key)).toEqual([200])
  await cluster.admin.call(ADMIN.revokeKey, { key: key.id })
  await expect.poll(() => statuses(key), PUSHED).toEqual([401])
})

test('a key is refused at every gateway from its end on', async () => {
  const key = await createKey()
  expect(await statuses(key)).toEqual([200])
  const endMs = Date.now() + 5_000
  await changeKey(key, { expiresAt: new Date(endMs).toISOString() })
  expect(await statuses(key)).toEqual([200])
  expect(Date.now()).toBeLessThan(endMs)
  await expect.poll(() => statuses(key), { timeout: endMs + 4_000 - Date.now(), interval: 20 }).toEqual([401])
  expect(Date.now()).toBeGreaterThanOrEqual(endMs)
})

test('a key that a gateway still believes in spends nothing: the reservation checks it again', async () => {
  const key = await createKey()
  expect(await statuses(key)).toEqual([200])
  // No trigger runs for this session, so no gateway is notified.
  await query(
    `set session_replication_role = replica;
     update api_keys set status = 'revoked' where id = '${key.id}'`,
  )
  const refused = { status: 401, code: 'invalid_key', message: '401 The API key is no longer valid.' }
  expect(await askEverywhere(key)).toEqual([refused, refused])
  expect(await listEverywhere(key)).toHaveLength(2)
})

test('after a rotation both secrets work, and when the overlap is over only the new one', async () => {
  const old = await createKey()
  expect(await statuses(old)).toEqual([200])
  const next = await cluster.admin.call(ADMIN.rotateKey, { key: old.id, overlapSeconds: 6 })
  expect(await statuses(next)).toEqual([200])
  expect(await statuses(old)).toEqual([200])
  await expect.poll(() => statuses(old), { timeout: 10_000, interval: 50 }).toEqual([401])
  expect(await statuses(next)).toEqual([200])
})

/** Returns a lower bound of the seconds that are left of this minute. */
const secondsOfMinuteLeft = () => Math.ceil((60_000 - (Date.now() % 60_000)) / 1_000)
