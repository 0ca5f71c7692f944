import { once } from 'node:events'
import { request } from 'node:http'
import { beforeAll, expect, test } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { createApiKey } from '#libs/api-key/api-key.ts'
import { runs } from '#test/support/long.ts'
import { connectScaler } from '../support/scaler-signals.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { UNSERVED_MODELS } from '../support/shared-models.ts'

const { model: UNSERVED } = UNSERVED_MODELS['without-credits']
const WAIT = { interval: 50 }

let cluster: SharedCluster

beforeAll(async () => {
  cluster = await sharedCluster()
})

type Asked = { status: number; code: string | undefined; param: string | undefined; message: string }

async function ask(apiKey: string, fields: object, operation = 'chat/completions'): Promise<Asked> {
  const response = await fetch(`${cluster.baseUrl}/${operation}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify(fields),
  })
  const { error }: { error?: { code: string; param?: string; message: string } } = Object(
    await response.json(),
  )
  return { status: response.status, code: error?.code, param: error?.param, message: error?.message ?? '' }
}

const say = (model: string, content = 'Hi', more: object = {}) => ({
  model,
  messages: [{ role: 'user', content }],
  max_tokens: 1,
  ...more,
})

async function createAccountWithout() {
  const { id } = await cluster.admin.call(ADMIN.createAccount, { name: 'test' })
  const { secret } = await cluster.admin.call(ADMIN.createKey, { account: id, name: 'test' })
  return { id, apiKey: secret }
}

test('an account without credits starts no worker: its requests are 402, and no demand reaches the bus', async () => {
  const poor = await createAccountWithout()
  const dust = await cluster.createAccount('0.000000001')
  const rich = await cluster.createAccount('1')
  const scaler = await connectScaler(cluster.redisUrl)
  const demands = () => scaler.demands.flatMap(({ models }) => models[UNSERVED] ?? [])
  try {
    const refused = await Promise.all(
      [poor, dust].flatMap(({ apiKey }) =>
        Array.from({ length: runs(10, 200) }, async () => await ask(apiKey, say(UNSERVED))),
      ),
    )
    expect(new Set(refused.map(({ status, code }) => `${status} ${code}`))).toEqual(
      new Set(['402 insufficient_credits']),
    )
    // A demand of the requests without credits would have been published before the demand of this request.
    expect(await ask(rich.apiKey, say(UNSERVED))).toMatchObject({ status: 503 })
    await expect.poll(() => demands().length, WAIT).toBeGreaterThan(0)
    expect(new Set(demands().map(({ fresh, unserved }) => `${fresh} ${unserved}`))).toEqual(new Set(['1 1']))
  } finally {
    scaler.stop()
  }
})

test('a large body without credits is 402 before it is read, a small one is answered in the usual order', async () => {
  const { apiKey } = await createAccountWithout()
  const large = 'x'.repeat(200_000)
  const wrong = { temperature: 9 }
  expect(await ask(apiKey, say('demo-chat', large, wrong))).toMatchObject({ status: 402 })
  expect(await ask(apiKey, say('demo-chat', 'Hi', wrong))).toMatchObject({
    status: 400,
    param: 'temperature',
  })
  expect(await ask(apiKey, say('no-such-model'))).toMatchObject({ status: 404 })
  // The request is refused after its header; the body is never sent.
  const waiting = request(`${cluster.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-length': '20000000' },
  })
  waiting.flushHeaders()
  const [answer] = await once(waiting, 'response')
  expect(answer).toMatchObject({ statusCode: 402 })
  waiting.destroy()
  const chunked = await fetch(`${cluster.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: new Blob([JSON.stringify(say('demo-chat', large))]).stream(),
    duplex: 'half',
  })
  expect(chunked.status).toBe(402)
  for (const path of ['models', 'key', 'credits']) {
    const headers = { authorization: `Bearer ${apiKey}` }
    expect((await fetch(`${cluster.baseUrl}/${path}`, { headers })).status).toBe(200)
  }
})

test('after a top-up the account is served at once, by every gateway', async () => {
  const { id, apiKey } = await createAccountWithout()
  const ask = async (baseUrl: string) =>
    await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: JSON.stringify(say('demo-chat')),
    })
  for (const { baseUrl } of cluster.gateways) expect((await ask(baseUrl)).status).toBe(402)
  await cluster.admin.call(ADMIN.topUp, {
    account: id,
    credits: '1',
    idempotencyKey: 'first',
    reason: 'test',
  })
  for (const { baseUrl } of cluster.gateways) {
    await expect.poll(async () => (await ask(baseUrl)).status, WAIT).toBe(200)
  }
})

test('a key whose own limit is spent is 402 too, and the message says so', async () => {
  const account = await cluster.createAccount('1')
  const { secret, id } = await cluster.admin.call(ADMIN.createKey, {
    account: account.id,
    name: 'limited',
    spendLimit: { amountNano: '1', period: 'total' },
  })
  expect(await ask(secret, say(UNSERVED))).toMatchObject({
    status: 402,
    message: expect.stringContaining('The spend limit of this API key'),
  })
  await cluster.admin.call(ADMIN.changeKey, { key: id, spendLimit: null })
  await expect.poll(async () => (await ask(secret, say('demo-chat'))).status, WAIT).toBe(200)
})

test('text that hides in ids and names is refused, whatever the account', async () => {
  const { apiKey } = await cluster.createAccount('1')
  const hidden = '<|'.repeat(100_000)
  const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{}' } })
  const chats: [string, object[]][] = [
    ['messages[1].tool_call_id', [{ role: 'tool', tool_call_id: hidden, content: 'y' }]],
    ['messages[1].tool_calls[0].id', [{ role: 'assistant', tool_calls: [call(hidden, 'f')] }]],
    ['messages[1].tool_calls[0].function.name', [{ role: 'assistant', tool_calls: [call('a', hidden)] }]],
  ]
  for (const [param, more] of chats) {
    const messages = [{ role: 'user', content: 'x' }, ...more]
    expect(await ask(apiKey, { model: 'demo-chat', messages })).toMatchObject({ status: 400, param })
  }
  const item = { type: 'function_call_output', call_id: hidden, output: 'y' }
  expect(await ask(apiKey, { model: 'demo-chat', input: [item] }, 'responses')).toMatchObject({
    status: 400,
    param: 'input[0].call_id',
  })
})

test('schemas that are small each and large together are refused', async () => {
  const { apiKey } = await cluster.createAccount('1')
  const parameters = { type: 'object', description: 'x'.repeat(60_000) }
  const tools = Array.from({ length: 4 }, (_, index) => ({
    type: 'function',
    function: { name: `f${index}`, parameters },
  }))
  expect(await ask(apiKey, say('demo-chat', 'Hi', { tools, tool_choice: 'required' }))).toMatchObject({
    status: 400,
    param: 'tools[3].function.parameters',
    message: expect.stringContaining('200000 characters in all schemas of the request'),
  })
})

test('made-up keys are 401 or refused, and real keys that no gateway knows yet are found beside them', async () => {
  const accounts = await Promise.all(Array.from({ length: 5 }, async () => await cluster.createAccount('1')))
  const models = async (apiKey: string) =>
    (await fetch(`${cluster.baseUrl}/models`, { headers: { authorization: `Bearer ${apiKey}` } })).status
  const made = Array.from({ length: runs(200, 1_000) }, async () => await models(createApiKey()))
  const real = accounts.map(async ({ apiKey }) => await models(apiKey))
  expect(new Set(await Promise.all(real))).toEqual(new Set([200]))
  for (const status of await Promise.all(made)) expect(status).toBe(401)
})
