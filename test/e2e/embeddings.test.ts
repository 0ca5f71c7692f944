import OpenAI from 'openai'
import { beforeAll, expect, test } from 'vitest'
import { embedText } from '#apps/simulator/embed-text.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { demoPrices } from '../support/catalog.ts'
import type { TestAccount } from '../support/cluster.ts'
import { embed, embedOk } from '../support/embeddings.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { FILE_MODELS } from '../support/shared-models.ts'

const { model, maxNumSeqs } = FILE_MODELS.embeddings.engine
const MANY = Array.from({ length: 2_048 }, (_, index) => `Input number ${index} of many`)

let cluster: SharedCluster
let account: TestAccount
let tokenizer: Tokenizer

beforeAll(async () => {
  cluster = await sharedCluster()
  account = await cluster.createAccount('100')
  tokenizer = await loadTokenizer('models/tiny')
})

const call = (input: string | readonly string[], fields: Record<string, unknown> = {}) => ({
  baseUrl: cluster.baseUrl,
  apiKey: account.apiKey,
  input,
  fields: { model, ...fields },
})
const running = async () => await cluster.metric(cluster.simulator, 'millrace_simulator_running', { model })
const waiting = async () => await cluster.metric(cluster.simulator, 'millrace_simulator_waiting', { model })
const vectorOf = async (text: string) => embedText(await tokenizer.encode(text), 256)

async function countTokens(inputs: readonly string[]) {
  let tokens = 0
  for (const input of inputs) tokens += (await tokenizer.encode(input)).length
  return tokens
}

/**
 * Runs `work` and returns the amount that the account pays for it. Waits before and after until everything is settled.
 */
async function chargeOf<Result>(work: () => Promise<Result>): Promise<{ charge: bigint; result: Result }> {
  await expectBalancedBooks(cluster, [account])
  const before = (await cluster.balance(account)).posted
  const result = await work()
  await expectBalancedBooks(cluster, [account])
  return { charge: before - (await cluster.balance(account)).posted, result }
}

const priceOf = (input: number) => priceTokens({ input, cachedInput: 0, output: 0 }, demoPrices('demo-embed'))

test('the openai client, which asks for base64, reads the same vectors as a caller who asks for numbers', async () => {
  const client = new OpenAI({ baseURL: cluster.baseUrl, apiKey: account.apiKey, maxRetries: 0 })
  const inputs = ['Grüße aus der Mühle 🌾', 'a second text']
  const read = await client.embeddings.create({ model, input: inputs })
  const numbers = await embedOk(call(inputs, { user: 'somebody' }))
  expect(numbers).toMatchObject({
    object: 'list',
    model,
    data: [
      { object: 'embedding', index: 0 },
      { object: 'embedding', index: 1 },
    ],
  })
  expect(read.data.map(({ embedding }) => embedding)).toEqual(numbers.vectors)
  const expected = await Promise.all(inputs.map(vectorOf))
  expect(numbers.vectors.map((vector) => Float32Array.from(vector))).toEqual(expected)

  const tokens = await countTokens(inputs)
  expect(read.usage).toEqual({
    prompt_tokens: tokens,
    total_tokens: tokens,
    cost: Number(priceOf(tokens)) / 1e9,
  })
  const text = await embed(call('one text', { encoding_format: 'base64' }))
  expect(text).toMatchObject({ data: [{ index: 0, embedding: expect.any(String) }] })
})

test('2,048 inputs come back in order, charged to the nano-credit; the engine never has more than it runs at once', async () => {
  const seen: number[] = []
  const done = new AbortController()
  const watch = (async () => {
    while (!done.signal.aborted) seen.push((await running()) + (await waiting()))
  })()
  const { charge, result } = await chargeOf(async () => await embedOk(call(MANY)))
  done.abort()
  await watch

  expect(result.data.map(({ index }) => index)).toEqual(MANY.keys().toArray())
  for (const index of [0, 63, 64, 1_000, 2_047]) {
    expect(Float32Array.from(result.vectors[index] ?? [])).toEqual(await vectorOf(MANY[index] ?? ''))
  }
  const tokens = await countTokens(MANY)
  expect(result.usage).toEqual({
    prompt_tokens: tokens,
    total_tokens: tokens,
    cost: Number(priceOf(tokens)) / 1e9,
  })
  expect(charge).toBe(priceOf(tokens))
  expect(Math.max(...seen)).toBeGreaterThan(maxNumSeqs / 2)
  expect(Math.max(...seen)).toBeLessThanOrEqual(maxNumSeqs)
})

test('one input does not wait for the thousands of another request', async () => {
  const order: string[] = []
  const many = embedOk(call(MANY)).then(() => order.push('many'))
  await expect.poll(running).toBeGreaterThan(1)
  const few = embedOk(call('just one')).then(() => order.push('one'))
  await Promise.all([many, few])
  expect(order).toEqual(['one', 'many'])
})

test('fewer dimensions are the beginning of the vector at unit length', async () => {
  const [whole] = (await embedOk(call('A text'))).vectors
  const [short] = (await embedOk(call('A text', { dimensions: 16 }))).vectors
  if (whole === undefined || short === undefined) throw new Error('there are no vectors')
  const length = Math.hypot(...whole.slice(0, 16))
  expect(Math.hypot(...short)).toBeCloseTo(1, 6)
  expect(short).toHaveLength(16)
  for (const [at, value] of short.entries()) expect(value).toBeCloseTo((whole[at] ?? 0) / length, 6)

  const more = await embed(call('A text', { dimensions: 257 }))
  expect(more).toMatchObject({
    status: 400,
    error: { code: 'invalid_request', param: 'dimensions', message: expect.stringContaining('1 to 256') },
  })
})

test('a model that chats does not embed, one that embeds does not chat, and neither costs anything', async () => {
  const { charge } = await chargeOf(async () => {
    const refused = await embed(call('Hi', { model: 'demo-chat' }))
    expect(refused).toMatchObject({ status: 404, error: { code: 'model_not_found', type: 'api_error' } })
    expect(await embed(call('Hi', { model: 'nobody' }))).toMatchObject({
      status: 404,
      error: { message: "Unknown model 'nobody'" },
    })
  })
  expect(charge).toBe(0n)
})

test('one input that is too long is 400 with its index and both numbers, and free', async () => {
  const long = 'word '.repeat(5_000)
  const tokens = await countTokens([long])
  const { charge } = await chargeOf(async () => {
    const answer = await embed(call(['short', long]))
    expect(answer).toMatchObject({ status: 400, error: { code: 'context_length_exceeded' } })
    const message = 'error' in answer ? answer.error.message : ''
    for (const number of ['index 1', String(tokens), '4096']) expect(message).toContain(number)
  })
  expect(charge).toBe(0n)
})

test('texts of many tokens a byte get an exact hold in a second round', async () => {
  // Every byte is a token, far more than the gateway expects from the earlier inputs.
  const dense = Array.from({ length: 20 }, () => '\u{1F9FF}\u{1FAE0}'.repeat(40))
  const { charge } = await chargeOf(async () => await embedOk(call(dense)))
  expect(charge).toBe(priceOf(await countTokens(dense)))
})

test('without the credits for its inputs it is 402', async () => {
  const poor = await cluster.createAccount('0.000000001')
  const answer = await embed({ ...call('Far too much for one nano-credit'), apiKey: poor.apiKey })
  expect(answer).toMatchObject({ status: 402, error: { code: 'insufficient_credits' } })
  await expectBalancedBooks(cluster, [poor])
})

test('hanging up midway frees the engine; what was embedded is charged, and no more', async () => {
  const leaving = new AbortController()
  const { charge } = await chargeOf(async () => {
    const answer = embed({ ...call(MANY), signal: leaving.signal })
    await expect.poll(running).toBeGreaterThan(1)
    leaving.abort()
    await expect(answer).rejects.toThrow('aborted')
    await expect.poll(running).toBe(0)
    expect(await waiting()).toBe(0)
  })
  expect(charge).toBeLessThan(priceOf(await countTokens(MANY)))
})
