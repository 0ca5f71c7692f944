import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { formatCredits } from '#libs/money/nano-credits.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { demoPrices } from '../support/catalog.ts'
import { chat, chatOk } from '../support/chat.ts'
import { embed } from '../support/embeddings.ts'
import { startChat, startChatOk } from '../support/start-chat.ts'
import type { RunningApp } from '../support/processes.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'

const ENGINE = { model: 'demo-chat', files: 'demo', maxNumSeqs: 8, stepMs: 20 }
const QUICK = {
  model: 'millrace/demo-chat',
  files: 'demo',
  stepMs: 1,
  sequenceMs: 0,
  maxNumSeqs: 256,
  kvBlocks: 40_000,
}
/** The engine is fast enough for thousands of inputs, and slow enough to be interrupted in the middle of them. */
const EMBEDDING = { model: 'demo-embed', files: 'demo', kind: 'embedding', maxNumSeqs: 8, stepMs: 4 } as const
/** With this setting, generations give up early if there is no worker. */
const IMPATIENT = { NO_WORKER_LIMIT_MS: '1000' }
const LONG = 'Talk [[tokens=1800]]'

let cluster: TestCluster
let account: TestAccount

beforeAll(async () => {
  cluster = await startCluster({ gateways: 2, workers: [[ENGINE, QUICK, EMBEDDING]], gatewayEnv: IMPATIENT })
  account = await cluster.createAccount('100')
})

afterAll(async () => await cluster.stop())

const ask = async () => await chat({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, content: 'Hi' })
const status = async () => (await ask()).status
const running = async () => await cluster.metric(cluster.simulator, 'millrace_simulator_running')
const untilServed = async () => await expect.poll(status).toBe(200)

async function changeEngine(change: object) {
  const body = JSON.stringify(change)
  expect((await fetch(`${cluster.simulator.opsUrl}/faults`, { method: 'POST', body })).ok).toBe(true)
}

/** Resolves with the account's balance when nothing is held and the books balance. */
async function posted() {
  await expectBalancedBooks(cluster, [account])
  return (await cluster.balance(account)).posted
}

/** Starts streams. Resolves when each has its first text. */
async function startStreams(baseUrls: string[]) {
  const chats = baseUrls.map((baseUrl) => startChat({ baseUrl, apiKey: account.apiKey, content: LONG }))
  const answers = chats.map(({ answer }) => answer.catch(() => 'connection lost' as const))
  await Promise.all(chats.map(({ firstText }) => firstText))
  expect(await running()).toBe(baseUrls.length)
  return answers
}

test('the only worker killed with -9: a clear error, nothing charged, nothing held, the engine freed', async () => {
  const before = await posted()
  const answers = await startStreams([cluster.baseUrl, cluster.baseUrl])
  await cluster.workers[0]?.kill()
  for (const answer of await Promise.all(answers)) {
    expect(answer).toMatchObject({
      finishReason: null,
      streamError: { code: 'upstream_error', type: 'api_error' },
    })
  }
  expect(await posted()).toBe(before)
  expect(await running()).toBe(0)
  expect(await ask()).toMatchObject({ status: 503, error: { code: 'model_unavailable' } })
  await cluster.restartWorker(0)
  await untilServed()
})

test('a gateway killed with -9: the engine is freed, nothing charged, nothing held; the other gateway serves', async () => {
  const before = await posted()
  const doomed = cluster.gateways[1]
  if (doomed === undefined) throw new Error('two gateways were asked for')
  const answers = await startStreams([doomed.baseUrl, doomed.baseUrl])
  await doomed.kill()
  expect(await Promise.all(answers)).toEqual(['connection lost', 'connection lost'])
  await expect.poll(running).toBe(0)
  expect(await posted()).toBe(before)
  expect((await chatOk({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, content: 'Hi' })).text).toBe(
    'You said: Hi',
  )
})

test('the only engine dies: a clear error, nothing charged, and the worker pulls nothing until it is back', async () => {
  const before = await posted()
  const answers = await startStreams([cluster.baseUrl])
  await cluster.simulator.kill()
  expect(await Promise.all(answers)).toMatchObject([{ streamError: { code: 'upstream_error' } }])
  expect(await posted()).toBe(before)
  await expect.poll(status).toBe(503)
  await cluster.restartSimulator()
  await untilServed()
})

test('the only engine dies under 256 streams and does not come back: each has a clear error, nothing is charged', async () => {
  const { model } = QUICK
  // The engine of this model was restarted together with the other engine, and workers may find it later.
  const askQuick = async () =>
    await chat({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, model, content: 'Hi' })
  await expect.poll(async () => 'text' in (await askQuick())).toBe(true)
  const before = await posted()
  await changeEngine({ engine: model, slowness: 200 })
  onTestFinished(async () => await changeEngine({ engine: model, dead: false, slowness: 1 }))
  // These prompts have more tokens than a gateway lets engines read again at once, so most of the streams wait for
  // their turn.
  const content = `Talk [[tokens=1800]] ${'of the mill '.repeat(80)}`
  const chats: ReturnType<typeof startChat>[] = []
  // Each group begins when the last one has its first text: on a busy machine, a gateway that receives 256 requests at
  // once may not read the queue's answers in time, and refuses some of them.
  while (chats.length < 256) {
    const group = Array.from({ length: 32 }, () =>
      startChat({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, model, content }),
    )
    await Promise.all(group.map(({ firstText }) => firstText))
    chats.push(...group)
  }
  await changeEngine({ engine: model, dead: true })
  for (const answer of await Promise.all(chats.map((each) => each.answer))) {
    expect(answer).toMatchObject({ streamError: { code: 'upstream_error' } })
  }
  expect(await posted()).toBe(before)
})

test('an engine that comes back is pulled for again, each time', async () => {
  const workerReady = async () => (await fetch(`${cluster.workers[0]?.opsUrl}/readyz`)).ok
  for (let turn = 0; turn < 2; turn += 1) {
    await changeEngine({ dead: true })
    await expect.poll(workerReady).toBe(false)
    await changeEngine({ dead: false })
    await expect.poll(workerReady).toBe(true)
    await untilServed()
  }
  await expectBalancedBooks(cluster, [account])
})

test('a queue Redis that stops answering: new work is refused with 503 and served again when it is back', async () => {
  cluster.redis.signal('SIGSTOP')
  expect(await ask()).toMatchObject({ status: 503, error: { code: 'model_unavailable' } })
  cluster.redis.signal('SIGCONT')
  await untilServed()
  await cluster.redis.kill()
  expect(await ask()).toMatchObject({ status: 503 })
  await cluster.redis.start()
  await untilServed()
  await expectBalancedBooks(cluster, [account])
})

test('a worker killed with -9 amid an embedding: a clear error, nothing charged, nothing held, the engine freed', async () => {
  const before = await posted()
  const input = Array.from({ length: 2_048 }, (_, index) => `Input number ${index} of many`)
  const answer = embed({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, input })
  await expect.poll(running).toBeGreaterThan(1)
  await cluster.workers[0]?.kill()
  expect(await answer).toMatchObject({ status: 503, error: { code: 'model_unavailable' } })
  await expect.poll(running).toBe(0)
  expect(await posted()).toBe(before)
  await cluster.restartWorker(0)
  await untilServed()
})

test('while billing is down billed calls are 503, and it recovers by itself', async () => {
  expect(await status()).toBe(200)
  // Otherwise the next billing would wait 30 s before it claims the entries that this one had read but not
  // acknowledged.
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
  await untilServed()
  await expectBalancedBooks(cluster, [account])
})

test('settlements made while billing is away are charged when it comes back', async () => {
  const before = await posted()
  const { answer, firstText } = startChatOk({
    baseUrl: cluster.baseUrl,
    apiKey: account.apiKey,
    model: QUICK.model,
    content: 'Go on [[tokens=1500]]',
  })
  await firstText
  await cluster.billing.kill()
  const { promptTokens, cachedTokens, completionTokens } = await answer
  // The end token counts, as in every engine.
  expect(completionTokens).toBe(1_501)
  await cluster.restartBilling()
  const after = await posted()
  const owed = priceTokens(
    { input: promptTokens, cachedInput: cachedTokens, output: completionTokens },
    demoPrices(QUICK.model),
  )
  expect(before - after).toBe(owed)
  await untilServed()
})

test('a billing that is away while a hold has to grow ends no stream', async () => {
  const { baseUrl, gateways, billing } = cluster
  const content = 'On and on [[tokens=240]]'
  const { promptTokens } = await chatOk({
    baseUrl,
    apiKey: account.apiKey,
    content,
    fields: { max_tokens: 1 },
  })
  // The credits pay for about 2 s of output.
  const paid = priceTokens({ input: promptTokens, cachedInput: 0, output: 100 }, demoPrices(ENGINE.model))
  const poor = await cluster.createAccount(formatCredits(paid))
  const { answer, firstText } = startChatOk({ baseUrl, apiKey: poor.apiKey, content })
  await firstText
  const more = { account: poor.id, credits: '1', idempotencyKey: poor.id, reason: 'test' }
  await cluster.admin.call(ADMIN.topUp, more)
  const [gateway] = gateways
  if (gateway === undefined) throw new Error('there is no gateway')
  const unanswered = async () =>
    await cluster.metric(gateway, 'millrace_gateway_hold_growths_total', { answer: 'unavailable' })
  const before = await unanswered()
  billing.signal('SIGSTOP')
  await expect.poll(unanswered, { interval: 20 }).toBeGreaterThan(before)
  billing.signal('SIGCONT')
  expect(await answer).toMatchObject({ finishReason: 'stop', completionTokens: 241 })
  await untilServed()
  await expectBalancedBooks(cluster, [poor])
})

test('a billing that is dead for 5 s ends no stream that had 5 s of paid tokens', async () => {
  const call = { baseUrl: cluster.baseUrl, content: 'On and on [[tokens=600]]' }
  const fields = { max_tokens: 1 }
  const { promptTokens: input } = await chatOk({ ...call, apiKey: account.apiKey, fields })
  // The credits pay for 9 s of output.
  const paid = priceTokens({ input, cachedInput: 0, output: 450 }, demoPrices(ENGINE.model))
  const poor = await cluster.createAccount(formatCredits(paid))
  const { answer, firstText } = startChatOk({ ...call, apiKey: poor.apiKey })
  await firstText
  await cluster.topUp(poor, { credits: '1', idempotencyKey: poor.id })
  const tokens = async () => await cluster.metric(cluster.simulator, 'millrace_simulator_tokens_total')
  const before = await tokens()
  await cluster.billing.kill()
  // The engine takes 5 s for these tokens. Then 200 paid tokens are left for the start of billing.
  await expect.poll(async () => (await tokens()) - before, { timeout: 20_000 }).toBeGreaterThan(249)
  await cluster.restartBilling()
  expect(await answer).toMatchObject({ finishReason: 'stop', completionTokens: 601 })
  await untilServed()
  await expectBalancedBooks(cluster, [poor])
})

/** Stops a process in the middle of a stream. The stream must end before the process does. */
async function stopAmidStream(stopping: RunningApp | undefined) {
  const { answer, firstText } = startChatOk({
    baseUrl: cluster.baseUrl,
    apiKey: account.apiKey,
    content: 'Talk [[tokens=100]]',
  })
  await firstText
  await stopping?.stop()
  return { logs: stopping?.logs() ?? '', answer: await answer }
}

const ENDED_FIRST = {
  logs: expect.stringMatching(/^(?![^]*release failed)[^]*stopped/u),
  answer: expect.objectContaining({ finishReason: 'stop', completionTokens: 101 }),
}

test('a worker that receives SIGTERM, the only one, lets running generations end first', async () => {
  expect(await stopAmidStream(cluster.workers[0])).toEqual(ENDED_FIRST)
  await expectBalancedBooks(cluster, [account])
  await cluster.restartWorker(0)
  await untilServed()
})

// This test is the last, because it stops the gateway of the other tests.
test('a gateway that receives SIGTERM lets running generations end first', async () => {
  // An idle keep-alive connection must not keep the gateway running until its grace is over.
  expect(await stopAmidStream(cluster.gateways[0])).toEqual(ENDED_FIRST)
  await expectBalancedBooks(cluster, [account])
})
