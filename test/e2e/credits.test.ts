import { Redis } from 'ioredis'
import { beforeAll, expect, test } from 'vitest'
import { recordKey, waitingKey } from '#libs/generation-record/keys.ts'
import { formatCredits, toNanoCredits } from '#libs/money/nano-credits.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { demoPrices } from '../support/catalog.ts'
import { chat, chatOk } from '../support/chat.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { FILE_MODELS } from '../support/shared-models.ts'
import { startChatOk } from '../support/start-chat.ts'

/** No other file uses these models, because a gateway's estimate of a prompt depends on the earlier prompts. */
const { model } = FILE_MODELS.credits.engine
const SLOW = FILE_MODELS['credits-slow'].engine.model
const PRICES = demoPrices(FILE_MODELS.credits.like)

let cluster: SharedCluster

beforeAll(async () => {
  cluster = await sharedCluster()
})

test('without credits the answer is 402 and nothing is enqueued', async () => {
  const account = await cluster.createAccount('0.000000001')
  const redis = new Redis(cluster.redisUrl)
  const answer = await chat({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, model, content: 'Hello' })
  expect(answer).toMatchObject({ status: 402, error: { code: 'insufficient_credits', type: 'api_error' } })
  expect(await redis.zcard(waitingKey(model, 'chat'))).toBe(0)
  expect(await redis.keys(recordKey(model, '*'))).toEqual([])
  redis.disconnect()
  await expectBalancedBooks(cluster, [account])
})

test('of fifty at once on credits for ten exactly ten are served, and nothing goes below zero', async () => {
  const call = {
    baseUrl: cluster.baseUrl,
    model: SLOW,
    content: 'Talk [[tokens=150]]',
    fields: { max_tokens: 200 },
  }
  const probe = await cluster.createAccount('1')
  const probing = startChatOk({ ...call, apiKey: probe.apiKey })
  await probing.firstText
  const { held } = await cluster.balance(probe)
  await probing.answer

  const account = await cluster.createAccount(formatCredits(toNanoCredits(held * 10n)))
  let lowest = (await cluster.balance(account)).available
  const answered = new AbortController()
  const watch = (async () => {
    while (!answered.signal.aborted) {
      const { available } = await cluster.balance(account)
      if (available < lowest) lowest = available
    }
  })()
  // An answer takes three seconds, so all fifty requests are sent before the first hold is settled.
  const answers = await Promise.all(
    Array.from({ length: 50 }, async () => await chat({ ...call, apiKey: account.apiKey })),
  )
  answered.abort()
  await watch

  expect(lowest).toBe(0n)
  const served = answers.filter((answer) => 'text' in answer)
  const refused = answers.filter((answer) => !('text' in answer))
  expect([served.length, refused.length]).toEqual([10, 40])
  for (const answer of served) expect(answer).toMatchObject({ completionTokens: 151, finishReason: 'stop' })
  for (const answer of refused) {
    expect(answer).toMatchObject({ status: 402, error: { code: 'insufficient_credits' } })
  }

  await expectBalancedBooks(cluster, [probe, account])
  const charged = served.reduce(
    (sum, { promptTokens: input, cachedTokens: cachedInput, completionTokens: output }) =>
      sum + priceTokens({ input, cachedInput, output }, PRICES),
    0n,
  )
  expect((await cluster.balance(account)).posted).toBe(held * 10n - charged)
})

test('money clamps the output, and the answer says length', async () => {
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

test('an underestimated prompt gets an exact hold instead of a refusal', async () => {
  // The tokenizer cuts this text into single bytes, so the estimate from other prompts is far too low.
  const account = await cluster.createAccount('10')
  for (let turn = 0; turn < 20; turn += 1) {
    await chatOk({
      baseUrl: cluster.baseUrl,
      apiKey: account.apiKey,
      model,
      content: 'the '.repeat(400),
      fields: { max_tokens: 1 },
    })
  }
  const content = '𒀀𒁀𒂀𒃀'.repeat(60)
  const answer = await chatOk({
    baseUrl: cluster.baseUrl,
    apiKey: account.apiKey,
    model,
    content,
    fields: { max_tokens: 2_000 },
  })
  expect(answer.text).toBe(`You said: ${content}`)
  await expectBalancedBooks(cluster, [account])
})
