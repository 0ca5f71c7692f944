import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import type { TestAccount, TestGateway } from '../support/cluster.ts'
import { startOwnGateway, startOwnWorkers } from '../support/own-parts.ts'
import { connectScaler, type ScalerSignals } from '../support/scaler-signals.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { UNSERVED_MODELS } from '../support/shared-models.ts'
import { readEvents } from '../support/sse-events.ts'

// The scaler's messages are real, and published by the test; the workers are real processes that start when a test
// starts them.

const { model } = UNSERVED_MODELS['start-waits']
const { model: embedModel } = UNSERVED_MODELS['start-waits-embed']
const WAIT = { interval: 50 }

let cluster: SharedCluster
let gateway: TestGateway
let scaler: ScalerSignals
let account: TestAccount
let publishing: NodeJS.Timeout

beforeAll(async () => {
  cluster = await sharedCluster()
  gateway = await startOwnGateway(cluster, {
    START_WAIT_S: '60',
    // One account may have two places for each model.
    START_WAITS: '8',
    STREAM_KEEP_ALIVE_S: '1',
    STREAM_HEADERS_AFTER_S: '60',
    NO_WORKER_LIMIT_MS: '60000',
  })
  scaler = await connectScaler(cluster.redisUrl)
})
afterAll(async () => {
  scaler.stop()
  await gateway.stop()
})
beforeEach(async () => {
  account = await cluster.createAccount('10')
  await publish({ etaMs: 20_000 })
})
afterEach(async () => {
  clearInterval(publishing)
  await expectBalancedBooks(cluster, [account])
})

/** Publishes the state of both models from now on, like a scaler that leads, and waits until the gateway knows it. */
async function publish(state: Parameters<ScalerSignals['publishStates']>[1]) {
  clearInterval(publishing)
  const send = async () => await scaler.publishStates([model, embedModel], state)
  publishing = setInterval(() => void send(), 500)
  await send()
  const expected = state?.state === undefined || state.state === 'warming' ? 429 : 503
  await expect.poll(async () => (await post({ model })).status, WAIT).toBe(expected)
}

const post = async (
  body: object,
  options: { headers?: Record<string, string>; path?: string; signal?: AbortSignal } = {},
) =>
  await fetch(`${gateway.baseUrl}/${options.path ?? 'chat/completions'}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.apiKey}`, ...options.headers },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], ...body }),
    ...(options.signal !== undefined && { signal: options.signal }),
  })

const streamed = { model, stream: true, stream_options: { include_usage: true } }
const prefer = (wait: string) => ({ headers: { prefer: `wait=${wait}` } })
const openHolds = async () => (await cluster.balance(account)).openHolds
const ended = async (end: string) => {
  const text = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
  const line = `millrace_gateway_start_waits_total{model="${model}",end="${end}"} `
  return Number(text.split('\n').find((each) => each.startsWith(line))?.slice(line.length) ?? 0)
}

test('streams and whole answers wait for the worker, are demand meanwhile, and are served when it is there', async () => {
  const stream = await post(streamed, prefer('50, respond-async'))
  // The headers are here before any worker is.
  expect(stream.status).toBe(200)
  expect(stream.headers.get('preference-applied')).toBe('wait=50')
  const whole = post({ model }, { headers: { 'x-wait-for-model': '1' } })
  const vectors = post({ model: embedModel, input: 'Hi' }, { ...prefer('600'), path: 'embeddings' })
  await expect.poll(openHolds, WAIT).toBe(3)
  const demand = () => scaler.demands.findLast(({ models }) => models[model]?.waiting === 2)?.models[model]
  await expect.poll(demand, WAIT).toMatchObject({ awaited: 2, accepted: 2 })

  const workers = await startOwnWorkers(cluster, [
    [
      { model, files: 'demo', stepMs: 1 },
      { model: embedModel, files: 'demo', kind: 'embedding' },
    ],
  ])
  try {
    const text = await stream.text()
    const [first = ''] = text.split('\n\n')
    expect(first).toMatch(/^: the model is starting, a worker is expected in about (?:20|19) s$/u)
    expect(readEvents(text)).toMatchObject({ finishReason: 'stop', streamError: null })
    expect(await (await whole).json()).toMatchObject({ object: 'chat.completion' })
    // The longest wait of this gateway, for a client that names none and for one that asks for more.
    expect((await whole).headers.get('preference-applied')).toBe('wait=60')
    expect((await vectors).headers.get('preference-applied')).toBe('wait=60')
    expect(await (await vectors).json()).toMatchObject({ data: [{ index: 0 }] })
    expect(await ended('started')).toBe(2)
    // A model that is served has nothing to wait for.
    const served = await post({ model }, prefer('50'))
    expect([served.status, served.headers.get('preference-applied')]).toEqual([200, null])
  } finally {
    await workers.stop()
  }
})

test('when the time is over, a whole answer is 429 and a stream ends with the same error, and neither costs', async () => {
  const posted = (await cluster.balance(account)).posted
  const [late, stream] = await Promise.all([post({ model }, prefer('1')), post(streamed, prefer('1'))])
  expect(late.status).toBe(429)
  expect(late.headers.get('preference-applied')).toBe('wait=1')
  expect(late.headers.get('retry-after')).toMatch(/^2\d$/u)
  expect(await late.json()).toMatchObject({ error: { code: 'model_warming' } })
  expect(stream.status).toBe(200)
  expect(readEvents(await stream.text()).streamError).toMatchObject({ code: 'model_warming' })
  await expect.poll(openHolds, WAIT).toBe(0)
  expect((await cluster.balance(account)).posted).toBe(posted)
  expect(await ended('late')).toBe(2)
})

test('a start that fails ends the wait, a client that leaves frees its place, and too many are refused', async () => {
  const leaving = new AbortController()
  const left = post({ model }, { ...prefer('50'), signal: leaving.signal })
  const failed = post({ model }, prefer('50'))
  await expect.poll(openHolds, WAIT).toBe(2)
  const refused = await post({ model }, prefer('50'))
  expect([refused.status, refused.headers.get('preference-applied')]).toEqual([429, null])
  expect(await refused.json()).toMatchObject({ error: { code: 'model_warming' } })
  expect(await ended('refused')).toBe(1)

  leaving.abort()
  await expect(left).rejects.toThrow('aborted')
  await expect.poll(openHolds, WAIT).toBe(1)
  expect(await ended('left')).toBe(1)

  await publish({ state: 'starved', etaMs: null })
  expect((await failed).status).toBe(503)
  expect(await (await failed).json()).toMatchObject({ error: { code: 'model_unavailable' } })
  expect(await ended('failed')).toBe(1)
})

test('without the header, without credits or without a scaler nothing waits', async () => {
  expect((await post({ model })).status).toBe(429)
  expect((await post({ model }, prefer('soon'))).status).toBe(429)
  const { account: paying } = { account }
  account = await cluster.createAccount('0.000000001')
  expect((await post({ model }, prefer('50'))).status).toBe(402)
  account = paying
  clearInterval(publishing)
  // A model's state expires 5 s after the scaler's last message.
  await expect.poll(async () => (await post({ model })).status, WAIT).toBe(503)
  const unknown = await post({ model }, prefer('50'))
  expect([unknown.status, unknown.headers.get('preference-applied')]).toEqual([503, null])
})
