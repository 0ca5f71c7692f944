import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { priceTokens } from '#test/support/price-tokens.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { demoPrices } from '../support/catalog.ts'
import { chat, chatOk } from '../support/chat.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'
import { createRedis, type TestRedis } from '../support/redis.ts'
import type { StreamedAnswer } from '../support/sse-events.ts'
import { startChat, startChatOk } from '../support/start-chat.ts'
import { until } from '../support/until.ts'

/** The cache's blocks are larger than any prompt: no prefix is cached, so equal answers have equal usage. */
const ENGINE = {
  model: 'demo-chat',
  files: 'demo',
  maxNumSeqs: 8,
  stepMs: 20,
  kvBlocks: 64,
  blockSize: 4_096,
}
/** Takes about 30 s. */
const ENDLESS = 'Talk [[tokens=1500]]'
/** Takes about 6 s. */
const LONG = 'Talk [[tokens=300]]'
const STREAMS = 4

let cluster: TestCluster
let bus: TestRedis
let account: TestAccount
/** A long stream that nothing disturbed, and its cost. */
let undisturbed: { answer: StreamedAnswer; cost: bigint }

beforeAll(async () => {
  bus = await createRedis()
  const env = { BUS_REDIS_URL: bus.url }
  cluster = await startCluster({
    workers: [[ENGINE], [ENGINE]],
    gatewayEnv: { ...env, STREAM_KEEP_ALIVE_S: '1' },
    workerEnv: env,
  })
  account = await cluster.createAccount('100')
  const before = (await cluster.balance(account)).posted
  const answer = await chatOk(call(LONG))
  await until(async () => (await cluster.balance(account)).openHolds === 0)
  undisturbed = { answer, cost: before - (await cluster.balance(account)).posted }
})

afterAll(async () => {
  await cluster.stop()
  await bus.stop()
})

const gatewayMetric = async (name: string, labels: Record<string, string> = {}) => {
  const [gateway] = cluster.gateways
  if (gateway === undefined) throw new Error('there is one gateway')
  return await cluster.metric(gateway, name, labels)
}
const running = async () => await cluster.metric(cluster.simulator, 'millrace_simulator_running')
const call = (content: string) => ({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, content })

async function posted() {
  await expectBalancedBooks(cluster, [account])
  return (await cluster.balance(account)).posted
}

/** Runs `disturb` during four long streams. Answers and costs must equal those of an undisturbed stream. */
async function expectSame(disturb: (answers: Promise<unknown>) => Promise<void>) {
  const before = await posted()
  const streams = Array.from({ length: STREAMS }, () => startChatOk(call(LONG)))
  const answers = Promise.all(streams.map(async ({ answer }) => await answer))
  await Promise.all(streams.map(async ({ firstText }) => await firstText))
  await disturb(answers)
  expect(await answers).toEqual(streams.map(() => undisturbed.answer))
  expect(before - (await posted())).toBe(undisturbed.cost * BigInt(STREAMS))
}

test('a bus that is away for 5 s costs nothing: what was not heard is sent again', async () => {
  const recoveries = async () => await gatewayMetric('millrace_gateway_recoveries_total')
  const before = await recoveries()
  await expectSame(async () => {
    bus.signal('SIGSTOP')
    await expect.poll(async () => await gatewayMetric('millrace_gateway_bus_away_seconds')).toBeGreaterThan(5)
    bus.signal('SIGCONT')
  })
  expect(await recoveries()).toBe(before)
})

test('a queue Redis that dies amid streams: they end without it, and are charged when it is back', async () => {
  const unanswered = async () =>
    await gatewayMetric('millrace_gateway_held_settlements', { state: 'unanswered' })
  await expectSame(async (answers) => {
    await cluster.redis.kill()
    expect(await chat(call('Anybody?'))).toMatchObject({ status: 503, error: { code: 'model_unavailable' } })
    await answers
    expect(await unanswered()).toBeGreaterThanOrEqual(STREAMS)
    expect((await cluster.balance(account)).openHolds).toBeGreaterThanOrEqual(STREAMS)
    await cluster.redis.start()
  })
  await expect.poll(unanswered).toBe(0)
})

test('a bus that stays away: clients get keep-alives, may leave, and get an error after 15 s; nothing runs on', async () => {
  const before = await posted()
  const stay = [startChat(call(ENDLESS)), startChat(call(ENDLESS))]
  let received = ''
  const comments = () => received.match(/^:/gmu)?.length ?? 0
  const text = Promise.withResolvers<void>()
  const abort = new AbortController()
  const leaves = chat({
    ...call(ENDLESS),
    signal: abort.signal,
    onPiece(piece) {
      received += piece
      if (textOf(received).length > 50) text.resolve()
    },
  })
  const left = leaves.catch(String)
  await Promise.all([text.promise, ...stay.map(async ({ firstText }) => await firstText)])
  expect(await running()).toBe(3)

  bus.signal('SIGSTOP')
  // A token may still be on its way at the next comment, and it is charged. Between two comments, no token came for a
  // second.
  const seen = comments()
  await until(async () => comments() >= seen + 2)
  abort.abort()
  expect(await left).toContain('aborted')
  // No message reaches the worker, so it must read the record.
  await expect.poll(running).toBe(2)
  for (const { answer } of stay) {
    expect(await answer).toMatchObject({ finishReason: null, streamError: { code: 'upstream_error' } })
  }
  await expect.poll(running).toBe(0)

  bus.signal('SIGCONT')
  await expect.poll(async () => (await chat({ ...call('Hi'), fields: { max_tokens: 1 } })).status).toBe(200)
  const after = await posted()
  const next = await chatOk({ ...call('Hi'), fields: { max_tokens: 1 } })
  const charged = before - after - (after - (await posted()))
  const tokens = await tokensFor(charged)
  expect(next.completionTokens).toBe(1)
  const asMuch = await chatOk({ ...call(ENDLESS), fields: { max_tokens: tokens } })
  expect(textOf(received)).toBe(asMuch.text)
})

/** Returns the text of the complete events that were received. */
function textOf(received: string): string {
  return Array.from(received.matchAll(/"content":("(?:[^"\\]|\\.)*")/gu), ([, text]) =>
    String(JSON.parse(text ?? '""')),
  ).join('')
}

/** Returns how many tokens of the answer to `ENDLESS` cost this amount. */
async function tokensFor(charge: bigint): Promise<number> {
  const { promptTokens } = await chatOk({ ...call(ENDLESS), fields: { max_tokens: 1 } })
  const prices = demoPrices('demo-chat')
  const costs = (output: number) => priceTokens({ input: promptTokens, cachedInput: 0, output }, prices)
  const tokens = Array.from({ length: 1_500 }, (_, at) => at).find((output) => costs(output) === charge)
  if (tokens === undefined) throw new Error(`no number of tokens costs ${charge}`)
  return tokens
}

/** Changes the rights of a user on a server. */
async function setUser(url: string, ...rules: readonly string[]): Promise<void> {
  const owner = new Redis(url)
  await owner.call('ACL', 'SETUSER', ...rules)
  owner.disconnect()
}

const refusals = () => cluster.gateways[0]?.logs().split('the Redis user lacks a right').length ?? 0

test('while the user of the queue lacks a right, requests get 503 and the log names it; once it is there they are served', async () => {
  const before = refusals()
  await setUser(cluster.redis.url, 'millrace', '-@scripting')
  expect(await chat(call('Hello'))).toMatchObject({ status: 503 })
  expect(refusals()).toBeGreaterThan(before)
  await setUser(cluster.redis.url, 'millrace', '+@scripting')
  await expect.poll(async () => (await chat(call('Hello'))).status).toBe(200)
  await posted()
})

test('while the user of the bus lacks its channels, streams wait and the log names the refusal; once they are there the streams go on', async () => {
  const before = refusals()
  await expectSame(async () => {
    await setUser(bus.url, 'default', 'resetchannels')
    await expect.poll(refusals).toBeGreaterThan(before)
    await setUser(bus.url, 'default', 'allchannels')
  })
})
