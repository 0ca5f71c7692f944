import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordKey, waitingKey } from '#libs/generation-record/keys.ts'
import { formatCredits, toNanoCredits } from '#libs/money/nano-credits.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { demoPrices } from '../support/catalog.ts'
import { chat, chatOk } from '../support/chat.ts'
import { startChatOk } from '../support/start-chat.ts'
import { startCluster, type TestCluster } from '../support/cluster.ts'

let cluster: TestCluster

const FAST = { model: 'demo-chat', files: 'demo', stepMs: 1, sequenceMs: 0 }
const SLOW = { model: 'millrace/demo-chat', files: 'demo', stepMs: 20, sequenceMs: 0 }

beforeAll(async () => {
  cluster = await startCluster({ workers: [[FAST, SLOW]] })
})

afterAll(async () => await cluster.stop())

test('without credits the answer is 402 and nothing is enqueued', async () => {
  const account = await cluster.createAccount('0.000000001')
  const redis = new Redis(cluster.redis.url)
  const answer = await chat({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, content: 'Hello' })
  expect(answer).toMatchObject({ status: 402, error: { code: 'insufficient_credits', type: 'api_error' } })
  expect(await redis.zcard(waitingKey('demo-chat', 'chat'))).toBe(0)
  expect(await redis.keys(recordKey('demo-chat', '*'))).toEqual([])
  redis.disconnect()
  await expectBalancedBooks(cluster, [account])
})

test('of fifty at once on credits for ten exactly ten are served, and nothing goes below zero', async () => {
  const call = {
    baseUrl: cluster.baseUrl,
    model: SLOW.model,
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
  // An answer takes three seconds: all fifty ask before the first hold is settled.
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
  const prices = demoPrices(SLOW.model)
  const charged = served.reduce(
    (sum, { promptTokens: input, cachedTokens: cachedInput, completionTokens: output }) =>
      sum + priceTokens({ input, cachedInput, output }, prices),
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
    content,
    fields: { max_tokens: 1 },
  })
  const credits = priceTokens({ input: promptTokens, cachedInput: 0, output: 50 }, demoPrices('demo-chat'))
  const account = await cluster.createAccount(formatCredits(credits))
  const answer = await chatOk({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, content })
  expect(answer.finishReason).toBe('length')
  expect(answer.completionTokens).toBe(50)
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBeGreaterThanOrEqual(0n)
})

test('an underestimated prompt gets an exact hold instead of a refusal', async () => {
  // Text that the tokenizer cuts into single bytes: the estimate from other prompts is far too low.
  const account = await cluster.createAccount('10')
  for (let turn = 0; turn < 20; turn += 1) {
    await chatOk({
      baseUrl: cluster.baseUrl,
      apiKey: account.apiKey,
      content: 'the '.repeat(400),
      fields: { max_tokens: 1 },
    })
  }
  const content = '𒀀𒁀𒂀𒃀'.repeat(60)
  const answer = await chatOk({
    baseUrl: cluster.baseUrl,
    apiKey: account.apiKey,
    content,
    fields: { max_tokens: 2_000 },
  })
  expect(answer.text).toBe(`You said: ${content}`)
  await expectBalancedBooks(cluster, [account])
})

test('while billing is down billed calls are 503, and it recovers by itself', async () => {
  const account = await cluster.createAccount('10')
  const ask = async () => await chat({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, content: 'Hello' })
  expect((await ask()).status).toBe(200)
  // Otherwise the next billing would wait 30 s to claim what this one had read and not acknowledged.
  await expectBalancedBooks(cluster, [account])
  await cluster.billing.kill()
  const down = await ask()
  expect(down).toMatchObject({ status: 503, error: { code: 'model_unavailable' } })
  expect('retryAfter' in down && Number(down.retryAfter)).toBeGreaterThanOrEqual(1)
  const models = await fetch(`${cluster.baseUrl}/models`, {
    headers: { authorization: `Bearer ${account.apiKey}` },
  })
  expect(models.status).toBe(200)

  await cluster.restartBilling()
  await expect.poll(async () => (await ask()).status, { timeout: 20_000 }).toBe(200)
  await expectBalancedBooks(cluster, [account])
})

test('settlements made while billing is away are charged when it comes back', async () => {
  const account = await cluster.createAccount('10')
  const before = (await cluster.balance(account)).posted
  const { answer, firstText } = startChatOk({
    baseUrl: cluster.baseUrl,
    apiKey: account.apiKey,
    content: 'Go on [[tokens=1500]]',
  })
  await firstText
  await cluster.billing.kill()
  const { promptTokens, cachedTokens, completionTokens } = await answer
  // The end token counts, as in every engine.
  expect(completionTokens).toBe(1_501)
  await cluster.restartBilling()
  await expectBalancedBooks(cluster, [account])
  const owed = priceTokens(
    { input: promptTokens, cachedInput: cachedTokens, output: completionTokens },
    demoPrices('demo-chat'),
  )
  expect(before - (await cluster.balance(account)).posted).toBe(owed)
})
