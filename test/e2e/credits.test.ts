import { Redis } from 'ioredis'
import { describe, expect, onTestFinished } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { recordKey, waitingKey } from '#libs/queue-redis/keys.ts'
import { formatCredits, toNanoCredits } from '#libs/money/nano-credits.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { demoPrices } from '../support/catalog.ts'
import { chat, chatChoices, chatOk } from '../support/chat.ts'
import { test as clusterTest } from '../support/cluster-test.ts'
import { startOwnGateway } from '../support/own-parts.ts'
import type { SharedCluster } from '../support/shared-cluster.ts'
import { FILE_MODELS } from '../support/shared-models.ts'
import { startChatOk } from '../support/start-chat.ts'

/** No other file uses these models, because a gateway's estimate of a prompt depends on the earlier prompts. */
const { model } = FILE_MODELS.credits.engine
const RACE = FILE_MODELS['credits-race'].engine.model
const PRICES = demoPrices(FILE_MODELS.credits.like)

/** The request of the race. */
const ANSWER = { content: 'Talk [[tokens=300]]', tokens: 301 }

/** The credits for ten answers. */
const test = clusterTest.extend('credits', { scope: 'file' }, async ({ endpoint }) => {
  // The gateway learns how long the answers of this model are.
  const call = { ...endpoint, model: RACE, content: ANSWER.content }
  const answers = await Promise.all(Array.from({ length: 20 }, async () => await chatOk(call)))
  const input = answers[0]?.promptTokens ?? 0
  return priceTokens({ input, cachedInput: 0, output: ANSWER.tokens }, PRICES) * 10n
})

test('without credits the answer is 402 and nothing is enqueued', async ({ cluster }) => {
  const account = await cluster.createAccount('0.000000001')
  const redis = new Redis(cluster.redisUrl)
  const answer = await chat({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, model, content: 'Hello' })
  expect(answer).toMatchObject({ status: 402, error: { code: 'insufficient_credits', type: 'api_error' } })
  expect(await redis.zcard(waitingKey(model, 'chat'))).toBe(0)
  expect(await redis.keys(recordKey(model, '*'))).toEqual([])
  redis.disconnect()
  await expectBalancedBooks(cluster, [account])
})

/** A caller who sets a limit near the real length, none, or ten times as much. */
const FORMS: [string, Record<string, number>][] = [
  ['an honest limit', { max_tokens: 301 }],
  ['no limit', {}],
  ['ten times the limit', { max_tokens: 3_010 }],
]

/** Sends fifty requests at once, of an account that has `credits`. At least nine get their whole answer. */
async function race(
  cluster: SharedCluster,
  { baseUrl, credits, fields }: { baseUrl: string; credits: bigint; fields: Record<string, number> },
) {
  const account = await cluster.createAccount(formatCredits(toNanoCredits(credits)))
  const call = { baseUrl, model: RACE, content: ANSWER.content, fields, apiKey: account.apiKey }
  let lowest = credits
  const answered = new AbortController()
  const watch = (async () => {
    while (!answered.signal.aborted) {
      const { available } = await cluster.balance(account)
      if (available < lowest) lowest = available
    }
  })()
  const answers = await Promise.all(Array.from({ length: 50 }, async () => await chat(call)))
  answered.abort()
  await watch

  expect(lowest).toBeGreaterThanOrEqual(0n)
  const served = answers
    .filter((answer) => 'text' in answer)
    .filter(({ streamError }) => streamError === null)
  for (const answer of served)
    expect(answer).toMatchObject({ finishReason: 'stop', completionTokens: ANSWER.tokens })
  for (const answer of answers) {
    if ('text' in answer && answer.streamError === null) continue
    // After ten seconds the headers of a stream are sent, so its refusal is an event.
    const error = 'text' in answer ? answer.streamError : answer.error
    expect(error).toMatchObject({ code: 'insufficient_credits' })
  }
  expect(served.length).toBeGreaterThanOrEqual(9)

  await expectBalancedBooks(cluster, [account])
  const charged = served.reduce(
    (sum, { promptTokens: input, cachedTokens: cachedInput, completionTokens: output }) =>
      sum + priceTokens({ input, cachedInput, output }, PRICES),
    0n,
  )
  expect((await cluster.balance(account)).posted).toBe(credits - charged)
}

describe('fifty at once on credits for ten', () => {
  test.for(FORMS)(
    'with %s at least nine get their whole answer, and nothing is overspent',
    async ([, fields], { cluster, credits }) => {
      await race(cluster, { baseUrl: cluster.baseUrl, credits, fields })
    },
  )

  test.for(
    FORMS.flatMap(([name, fields]) =>
      ['Hello', ANSWER.content].map((first) => [name, first, fields] as const),
    ),
  )(
    'with %s it is the same on the first day, after one request: %s',
    async ([, content, fields], { cluster, credits, endpoint }) => {
      const gateway = await startOwnGateway(cluster, {})
      onTestFinished(gateway.stop)
      const { baseUrl } = gateway
      await expect
        .poll(async () => (await chat({ ...endpoint, baseUrl, model: RACE, content })).status)
        .toBe(200)
      await race(cluster, { baseUrl, credits, fields })
    },
  )
})

/** Creates an account whose credits pay for `output` tokens of output after this prompt. */
async function accountFor(cluster: SharedCluster, { content, output }: { content: string; output: number }) {
  const probe = await cluster.createAccount('1')
  const fields = { max_tokens: 1 }
  const call = { baseUrl: cluster.baseUrl, model: RACE, content }
  const { promptTokens: input } = await chatOk({ ...call, apiKey: probe.apiKey, fields })
  const credits = priceTokens({ input, cachedInput: 0, output }, PRICES)
  const account = await cluster.createAccount(formatCredits(credits))
  return { account, credits, call: { ...call, apiKey: account.apiKey } }
}

const growths = async (cluster: SharedCluster, answer: string) =>
  await cluster.metric(cluster.gateways[0], 'millrace_gateway_hold_growths_total', { answer })

test('an answer that is longer than expected is whole: its hold grows up to the balance', async ({
  cluster,
}) => {
  const { account, call } = await accountFor(cluster, { content: 'Go on [[tokens=1900]]', output: 1_902 })
  const before = await growths(cluster, 'granted')
  const answer = await chatOk(call)
  expect(answer).toMatchObject({ finishReason: 'stop', completionTokens: 1_901 })
  expect((await growths(cluster, 'granted')) - before).toBeGreaterThanOrEqual(2)
  await expectBalancedBooks(cluster, [account])
})

test('a key that is revoked meanwhile ends the stream behind its last paid token', async ({ cluster }) => {
  const { account, credits, call } = await accountFor(cluster, {
    content: 'On [[tokens=6000]]',
    output: 2_048,
  })
  const { answer, firstText } = startChatOk(call)
  await firstText
  await cluster.admin.call(ADMIN.revokeKey, { key: account.keyId })
  const { finishReason, completionTokens, ...prompt } = await answer
  expect(finishReason).toBe('length')
  // The model's maximum is 2,048.
  expect(completionTokens).toBeLessThan(2_000)
  await expectBalancedBooks(cluster, [account])
  const usage = { input: prompt.promptTokens, cachedInput: prompt.cachedTokens, output: completionTokens }
  expect((await cluster.balance(account)).posted).toBe(credits - priceTokens(usage, PRICES))
})

test('money clamps the output, and the answer says length', async ({ cluster }) => {
  const probe = await cluster.createAccount('1')
  const content = 'A long story [[tokens=400]]'
  const { promptTokens } = await chatOk({
    baseUrl: cluster.baseUrl,
    apiKey: probe.apiKey,
    model,
    content,
    fields: { max_tokens: 1 },
  })
  const credits = priceTokens({ input: promptTokens, cachedInput: 0, output: 50 }, PRICES)
  const account = await cluster.createAccount(formatCredits(credits))
  const answer = await chatOk({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, model, content })
  expect(answer.finishReason).toBe('length')
  expect(answer.completionTokens).toBe(50)
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBeGreaterThanOrEqual(0n)
})

test('several answers share the credits: each ends as length at the end of its share', async ({
  cluster,
}) => {
  const probe = await cluster.createAccount('1')
  const content = 'Several long stories [[tokens=400]]'
  const call = { baseUrl: cluster.baseUrl, model, content }
  const { promptTokens } = await chatOk({ ...call, apiKey: probe.apiKey, fields: { max_tokens: 1 } })
  const credits = priceTokens({ input: promptTokens, cachedInput: 0, output: 80 }, PRICES)
  const account = await cluster.createAccount(formatCredits(credits))
  const answers = await chatChoices({ ...call, apiKey: account.apiKey, fields: { n: 4 } })
  expect(answers.map(({ finishReason }) => finishReason)).toEqual(['length', 'length', 'length', 'length'])
  expect(answers.every(({ text }) => text !== '')).toBe(true)
  const { cachedTokens: cachedInput = 0, completionTokens: output = 0 } = answers[0] ?? {}
  expect(answers[0]?.promptTokens).toBe(promptTokens)
  expect(output).toBeGreaterThan(0)
  expect(output).toBeLessThanOrEqual(80)
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBe(
    credits - priceTokens({ input: promptTokens, cachedInput, output }, PRICES),
  )
})

test('several answers that are longer than expected are whole: the hold grows for each', async ({
  cluster,
}) => {
  const { account, call } = await accountFor(cluster, { content: 'More [[tokens=900]]', output: 3_000 })
  const before = await growths(cluster, 'granted')
  const answers = await chatChoices({ ...call, fields: { n: 3 } })
  expect(answers).toMatchObject(
    Array.from({ length: 3 }, () => ({ finishReason: 'stop', completionTokens: 3 * 901 })),
  )
  expect((await growths(cluster, 'granted')) - before).toBeGreaterThanOrEqual(3)
  await expectBalancedBooks(cluster, [account])
})

test('an underestimated prompt gets an exact hold instead of a refusal', async ({
  cluster,
  account,
  endpoint,
}) => {
  // The tokenizer cuts this text into single bytes, so the estimate from other prompts is far too low.
  for (let turn = 0; turn < 20; turn += 1) {
    await chatOk({ ...endpoint, model, content: 'the '.repeat(400), fields: { max_tokens: 1 } })
  }
  const content = '𒀀𒁀𒂀𒃀'.repeat(60)
  const answer = await chatOk({ ...endpoint, model, content, fields: { max_tokens: 2_000 } })
  expect(answer.text).toBe(`You said: ${content}`)
  await expectBalancedBooks(cluster, [account])
})
