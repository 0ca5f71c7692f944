import OpenAI from 'openai'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { formatCredits } from '#libs/money/nano-credits.ts'
import { expectBalancedBooks } from '../support/books.ts'
import type { TestAccount } from '../support/cluster.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'

const WAIT = { interval: 200 }
const SLOW = 'millrace/demo-chat'

const Cost = z.object({ cost: z.number() })
const Answer = z.object({
  data: z.object({
    status: z.string(),
    outcome: z.string().nullable(),
    finish_reason: z.string().nullable(),
    streamed: z.boolean().nullable(),
    waited_ms: z.number().nullable(),
    latency: z.number().nullable(),
    generation_time: z.number().nullable(),
    tokens_prompt: z.number().nullable(),
    tokens_completion: z.number().nullable(),
    native_tokens_cached: z.number().nullable(),
    total_cost: z.number().nullable(),
    nano: z.object({ total_cost: z.string().nullable() }),
  }),
})

let cluster: SharedCluster

beforeAll(async () => {
  cluster = await sharedCluster()
})

const connect = ({ apiKey }: TestAccount) => new OpenAI({ baseURL: cluster.baseUrl, apiKey, maxRetries: 0 })

const get = async (path: string, { apiKey }: TestAccount) =>
  await fetch(`${cluster.baseUrl}${path}`, { headers: { authorization: `Bearer ${apiKey}` } })

/** Waits for the receipt of a settled request with its timing, and compares it with billing's books. */
async function receiptOf(id: string, account: TestAccount) {
  const read = async () => Answer.parse(await (await get(`/generation?id=${id}`, account)).json()).data
  // The timing is written after the settlement.
  const isWhole = ({ status, streamed }: z.infer<typeof Answer>['data']) =>
    status === 'settled' && streamed !== null
  let receipt = await read()
  await expect.poll(async () => isWhole((receipt = await read())), { ...WAIT, interval: 1_100 }).toBe(true)
  const request = id.replace(/^(chatcmpl-|resp_|cmpl-)/, '')
  const { settlement } = await cluster.admin.call(ADMIN.readRequest, { request })
  expect(receipt).toMatchObject({
    outcome: settlement?.outcome,
    tokens_prompt: settlement?.promptTokens,
    tokens_completion: settlement?.completionTokens,
    native_tokens_cached: settlement?.cachedTokens,
    nano: { total_cost: settlement?.chargedNano },
  })
  expect(receipt.total_cost).toBe(Number(formatCredits(BigInt(settlement?.chargedNano ?? 0))))
  return receipt
}

test('after a streamed answer its cost is the charge, and its receipt has tokens, wait and end', async () => {
  const account = await cluster.createAccount('1')
  const stream = await connect(account).chat.completions.create({
    model: 'demo-chat',
    messages: [{ role: 'user', content: 'Hello [[tokens=40]]' }],
    stream: true,
    stream_options: { include_usage: true },
  })
  const chunks = await Array.fromAsync(stream)
  const last = chunks.at(-1)
  const receipt = await receiptOf(last?.id ?? '', account)
  expect(receipt).toMatchObject({ finish_reason: 'stop', streamed: true, tokens_completion: 41 })
  expect(Cost.parse(last?.usage).cost).toBe(receipt.total_cost)
  expect(receipt.total_cost).toBeGreaterThan(0)
  expect(receipt.waited_ms).toBeGreaterThanOrEqual(0)
  expect(receipt.latency).toBeGreaterThanOrEqual(receipt.waited_ms ?? Infinity)
  // On a busy machine a worker may read the whole output at once, within one millisecond.
  expect(receipt.generation_time).toBeGreaterThanOrEqual(0)
  await expectBalancedBooks(cluster, [account])
})

test('the cost is the charge where output was cut off, the prompt was cached, and for responses and embeddings', async () => {
  const account = await cluster.createAccount('1')
  const openai = connect(account)
  const messages = [{ role: 'user' as const, content: `Remember this: ${'one two three '.repeat(60)}` }]
  const cut = await openai.chat.completions.create({ model: 'demo-chat', messages, max_tokens: 5 })
  const cutReceipt = await receiptOf(cut.id, account)
  expect(cutReceipt).toMatchObject({ finish_reason: 'length', tokens_completion: 5, streamed: false })
  expect(Cost.parse(cut.usage).cost).toBe(cutReceipt.total_cost)

  const cached = await openai.chat.completions.create({ model: 'demo-chat', messages, max_tokens: 5 })
  const cachedReceipt = await receiptOf(cached.id, account)
  expect(cachedReceipt.native_tokens_cached).toBeGreaterThan(0)
  expect(cachedReceipt.total_cost).toBeLessThan(cutReceipt.total_cost ?? 0)
  expect(Cost.parse(cached.usage).cost).toBe(cachedReceipt.total_cost)

  const response = await openai.responses.create({ model: 'demo-chat', input: 'Hello' })
  expect(Cost.parse(response.usage).cost).toBe((await receiptOf(response.id, account)).total_cost)

  const { data: vectors, request_id: id } = await openai.embeddings
    .create({ model: 'demo-embed', input: ['one', 'two'] })
    .withResponse()
  expect(Cost.parse(vectors.usage).cost).toBe((await receiptOf(id ?? '', account)).total_cost)
})

test('several answers have one receipt and one charge: the prompt once, and the output of all', async () => {
  const account = await cluster.createAccount('1')
  const openai = connect(account)
  const messages = [{ role: 'user' as const, content: 'Hello several times [[tokens=40]]' }]
  const one = await openai.chat.completions.create({ model: 'demo-chat', messages })
  const several = await openai.chat.completions.create({ model: 'demo-chat', messages, n: 3 })
  const receipt = await receiptOf(several.id, account)
  expect(receipt).toMatchObject({
    tokens_prompt: one.usage?.prompt_tokens,
    tokens_completion: 3 * 41,
    finish_reason: 'stop',
  })
  expect(several.usage).toMatchObject({ prompt_tokens: one.usage?.prompt_tokens, completion_tokens: 3 * 41 })
  expect(Cost.parse(several.usage).cost).toBe(receipt.total_cost)
  await expectBalancedBooks(cluster, [account])
  expect(await (await get('/activity', account)).json()).toMatchObject({ data: [{ requests: 2 }] })
})

test('a cancelled answer has a receipt: running first, then charged for what was received', async () => {
  const account = await cluster.createAccount('1')
  const stream = await connect(account).chat.completions.create({
    model: SLOW,
    messages: [{ role: 'user', content: 'Talk [[tokens=400]]' }],
    stream: true,
  })
  let id = ''
  for await (const chunk of stream) {
    id = chunk.id
    expect(await (await get(`/generation?id=${id}`, account)).json()).toMatchObject({
      data: { status: 'running', total_cost: null },
    })
    break
  }
  const receipt = await receiptOf(id, account)
  expect(receipt).toMatchObject({ outcome: 'cancelled', finish_reason: null })
  expect(receipt.total_cost).toBeGreaterThan(0)
})

test('reads are answered without credits, and a request of another key is not found', async () => {
  const [account, other] = [await cluster.createAccount('1'), await cluster.createAccount('1')]
  const answer = await connect(account).chat.completions.create({
    model: 'demo-chat',
    messages: [{ role: 'user', content: 'Hello' }],
  })
  const { total_cost: cost } = await receiptOf(answer.id, account)
  const { available } = await cluster.balance(account)
  await cluster.admin.call(ADMIN.adjust, {
    account: account.id,
    credits: `-${formatCredits(available)}`,
    idempotencyKey: 'empty',
    reason: 'test',
  })
  const refused = connect(account).chat.completions.create({
    model: 'demo-chat',
    messages: [{ role: 'user', content: 'Hello' }],
  })
  await expect(refused).rejects.toMatchObject({ status: 402 })

  const key = await (await get('/key', account)).json()
  expect(key).toMatchObject({ data: { usage: cost, usage_daily: cost, available: 0, spendable: 0 } })
  const credits = await (await get('/credits', account)).json()
  expect(credits).toMatchObject({ data: { available: 0 } })
  await receiptOf(answer.id, account)
  expect(await (await get('/generations', account)).json()).toMatchObject({
    data: [{ id: answer.id.replace('chatcmpl-', '') }],
  })
  expect(await (await get('/activity', account)).json()).toMatchObject({
    data: [{ model: 'demo-chat', requests: 1, usage: cost }],
  })
  expect((await get(`/generation?id=${answer.id}`, other)).status).toBe(404)
  expect((await get('/key', { ...account, apiKey: 'mr_live_no' })).status).toBe(401)
})
