import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import { chat } from '../support/chat.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'
import { startOwnWorkers } from '../support/own-parts.ts'
import { connectScaler, type ScalerSignals } from '../support/scaler-signals.ts'
import { readEvents } from '../support/sse-events.ts'
import { startChat, startChatOk } from '../support/start-chat.ts'

const SERVED = 'demo-chat'
const UNSERVED = 'demo-reasoning'
const UNSERVED_EMBED = 'demo-embed'
const WAIT = { interval: 50 }

let cluster: TestCluster
let account: TestAccount
let scaler: ScalerSignals

beforeAll(async () => {
  cluster = await startCluster({
    workers: [[{ model: SERVED, files: 'demo', maxNumSeqs: 2, stepMs: 20 }]],
    gatewayEnv: {
      NO_WORKER_LIMIT_MS: '1000',
      START_WAIT_S: '60',
      // One account may have two places for each model.
      START_WAITS: '8',
    },
  })
  account = await cluster.createAccount('100')
  scaler = await connectScaler(cluster.redis.url)
})
afterAll(async () => {
  scaler.stop()
  await cluster.stop()
})

const ask = async (model: string) =>
  await chat({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, content: 'Hi', model })
const demandOf = (model: string) => scaler.demands.at(-1)?.models[model]
const gateway = () => {
  const [app] = cluster.gateways
  if (app === undefined) throw new Error('a cluster has a gateway')
  return app
}
const admissions = async (model: string, outcome: string) =>
  await cluster.metric(gateway(), 'millrace_gateway_admissions_total', { model, outcome })

test('without a scaler a model without a worker is 503, and the refusal is published as demand', async () => {
  expect(await ask(UNSERVED)).toMatchObject({
    status: 503,
    error: { code: 'model_unavailable' },
    retryAfter: '5',
  })
  await expect
    .poll(() => demandOf(UNSERVED), WAIT)
    .toMatchObject({ fresh: 1, repeated: 0, refused: 1, unserved: 1, waitingTokens: 0 })
  expect(await admissions(UNSERVED, 'unavailable')).toBe(1)
})

test('a model that a scaler starts is 429 with the predicted time, and 503 again when the scaler is gone', async () => {
  const answer = async () => {
    await scaler.publishState(UNSERVED, { etaMs: 140_000 })
    return await ask(UNSERVED)
  }
  await expect.poll(answer, WAIT).toMatchObject({
    status: 429,
    error: { code: 'model_warming', message: expect.stringMatching(/ about 1(40|39) s\./u) },
    retryAfter: '59',
  })
  await scaler.publishState(UNSERVED, { state: 'starved', etaMs: null })
  await expect.poll(async () => (await ask(UNSERVED)).status, WAIT).toBe(503)
  await scaler.publishState(UNSERVED, { state: 'stopped', etaMs: 2_000 })
  await expect.poll(async () => (await ask(UNSERVED)).status, WAIT).toBe(429)
  // A model's state expires 5 s after the scaler's last message.
  await expect.poll(async () => (await ask(UNSERVED)).status, WAIT).toBe(503)
  expect(await admissions(UNSERVED, 'warming')).toBeGreaterThan(1)
  expect(
    await cluster.metric(gateway(), 'millrace_gateway_retry_after_seconds_count', {
      model: UNSERVED,
      outcome: 'warming',
    }),
  ).toBe(await admissions(UNSERVED, 'warming'))
})

test('a client’s own repetitions are counted apart', async () => {
  const before = demandOf(UNSERVED)
  await fetch(`${cluster.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.apiKey}`, 'x-stainless-retry-count': '2' },
    body: JSON.stringify({ model: UNSERVED, messages: [{ role: 'user', content: 'Hi' }] }),
  })
  await expect.poll(() => demandOf(UNSERVED)?.repeated, WAIT).toBe((before?.repeated ?? 0) + 1)
})

test('what is served is demand too, and what waits for a slot is published until a worker takes it', async () => {
  const chats = [1, 2, 3].map(() =>
    startChat({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, content: 'Talk [[tokens=1800]]' }),
  )
  await expect.poll(() => demandOf(SERVED)?.waitingTokens, WAIT).toBeGreaterThan(5)
  expect(scaler.demands.at(-1)?.openStreams).toBe(3)
  for (const { hangUp } of chats) hangUp()
  await Promise.all(chats.map(({ answer }) => answer.catch(() => {})))
  await expect.poll(() => demandOf(SERVED), WAIT).toMatchObject({ fresh: 3, refused: 0, waitingTokens: 0 })
  expect(await admissions(SERVED, 'admitted')).toBe(3)
})

test('an interrupted stream waits for a worker that is being started, longer than without a scaler', async () => {
  const { answer, firstText } = startChatOk({
    baseUrl: cluster.baseUrl,
    apiKey: account.apiKey,
    content: 'Talk [[tokens=300]]',
  })
  await firstText
  await cluster.workers[0]?.kill()
  await expect.poll(() => demandOf(SERVED)?.waitingTokens, WAIT).toBeGreaterThan(5)
  await scaler.publishState(SERVED, { etaMs: 60_000 })
  const publishing = setInterval(() => void scaler.publishState(SERVED, { etaMs: 60_000 }), 500)
  // This lasts longer than two checks of the gateway. Without the scaler's prediction, each would give the generation
  // up.
  const seen = scaler.demands.length
  await expect.poll(() => scaler.demands.length - seen, WAIT).toBeGreaterThan(10)
  expect(demandOf(SERVED)?.waitingTokens).toBeGreaterThan(5)
  await cluster.restartWorker(0)
  expect(await answer).toMatchObject({ finishReason: 'stop', completionTokens: 301 })
  clearInterval(publishing)
  await expectBalancedBooks(cluster, [account])
})

describe('a request that asks to wait', () => {
  const model = UNSERVED
  let publishing: NodeJS.Timeout

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
    const send = async () => await scaler.publishStates([model, UNSERVED_EMBED], state)
    publishing = setInterval(() => void send(), 500)
    await send()
    const expected = state?.state === undefined || state.state === 'warming' ? 429 : 503
    await expect.poll(async () => (await post({ model })).status, WAIT).toBe(expected)
  }

  const post = async (
    body: object,
    options: { headers?: Record<string, string>; path?: string; at?: string; signal?: AbortSignal } = {},
  ) =>
    await fetch(`${options.at ?? cluster.baseUrl}/${options.path ?? 'chat/completions'}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.apiKey}`, ...options.headers },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], ...body }),
      ...(options.signal !== undefined && { signal: options.signal }),
    })

  const streamed = { model, stream: true, stream_options: { include_usage: true } }
  const prefer = (wait: string) => ({ headers: { prefer: `wait=${wait}` } })
  const openHolds = async () => (await cluster.balance(account)).openHolds
  const ended = async (end: string) =>
    await cluster.metric(gateway(), 'millrace_gateway_start_waits_total', { model, end })

  test('streams and whole answers wait for the worker, are demand meanwhile, and are served when it is there', async () => {
    const stream = await post(streamed, prefer('50, respond-async'))
    // The headers are here before any worker is.
    expect(stream.status).toBe(200)
    expect(stream.headers.get('preference-applied')).toBe('wait=50')
    const whole = post({ model }, { headers: { 'x-wait-for-model': '1' } })
    const vectors = post({ model: UNSERVED_EMBED, input: 'Hi' }, { ...prefer('600'), path: 'embeddings' })
    await expect.poll(openHolds, WAIT).toBe(3)
    const awaited = () => {
      const { unserved = 0, refused = 0 } = demandOf(model) ?? {}
      return unserved - refused
    }
    await expect.poll(awaited, WAIT).toBe(2)
    expect(demandOf(model)?.waitingTokens).toBeGreaterThan(0)

    const workers = await startOwnWorkers(
      { redisUrl: cluster.redis.url, billingAddress: cluster.billingAddress },
      [
        [
          { model, files: 'demo', stepMs: 1 },
          { model: UNSERVED_EMBED, files: 'demo', kind: 'embedding' },
        ],
      ],
    )
    try {
      const text = await stream.text()
      const [first = ''] = text.split('\n\n')
      expect(first).toMatch(/^: the model is starting, a worker is expected in about \d+ s$/u)
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
    expect(late.headers.get('retry-after')).toMatch(/^\d+$/u)
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

  test('a gateway that stops ends what still waits after its grace, and a stream learns it from an event', async () => {
    const stopping = await cluster.addGateway({ DRAIN_GRACE_MS: '1000' })
    const at = { ...prefer('50'), at: stopping.baseUrl }
    await expect.poll(async () => (await post({ model }, { at: stopping.baseUrl })).status, WAIT).toBe(429)
    const [stream, whole] = [await post(streamed, at), post({ model }, at)]
    await expect.poll(openHolds, WAIT).toBe(2)
    await stopping.stop()
    expect((await whole).status).toBe(503)
    expect(readEvents(await stream.text()).streamError).toMatchObject({ code: 'model_unavailable' })
    await expect.poll(openHolds, WAIT).toBe(0)
  })

  test('without the header, without credits or without a scaler nothing waits', async () => {
    expect((await post({ model })).status).toBe(429)
    expect((await post({ model }, prefer('soon'))).status).toBe(429)
    const paying = account
    account = await cluster.createAccount('0.000000001')
    expect((await post({ model }, prefer('50'))).status).toBe(402)
    account = paying
    clearInterval(publishing)
    // A model's state expires 5 s after the scaler's last message.
    await expect.poll(async () => (await post({ model })).status, WAIT).toBe(503)
    const unknown = await post({ model }, prefer('50'))
    expect([unknown.status, unknown.headers.get('preference-applied')]).toEqual([503, null])
  })
})
