import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import { chat } from '../support/chat.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'
import { connectScaler, type ScalerSignals } from '../support/scaler-signals.ts'
import { startChat, startChatOk } from '../support/start-chat.ts'

const SERVED = 'demo-chat'
const UNSERVED = 'demo-reasoning'
const WAIT = { interval: 50 }

let cluster: TestCluster
let account: TestAccount
let scaler: ScalerSignals

beforeAll(async () => {
  cluster = await startCluster({
    workers: [[{ model: SERVED, files: 'demo', maxNumSeqs: 2, stepMs: 20 }]],
    gatewayEnv: { NO_WORKER_LIMIT_MS: '1000' },
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
    .toMatchObject({ fresh: 1, repeated: 0, accepted: 0, busy: 0, unserved: 1, waiting: 0 })
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
  await expect.poll(() => demandOf(SERVED), WAIT).toMatchObject({ fresh: 3, accepted: 3, waiting: 1 })
  expect(demandOf(SERVED)?.waitingTokens).toBeGreaterThan(5)
  expect(scaler.demands.at(-1)?.openStreams).toBe(3)
  for (const { hangUp } of chats) hangUp()
  await Promise.all(chats.map(({ answer }) => answer.catch(() => {})))
  await expect.poll(() => demandOf(SERVED), WAIT).toMatchObject({ accepted: 3, waiting: 0, waitingTokens: 0 })
  expect(await admissions(SERVED, 'admitted')).toBe(3)
})

test('an interrupted stream waits for a worker that is being started, longer than without a scaler', async () => {
  const { answer, firstText } = startChatOk({
    baseUrl: cluster.baseUrl,
    apiKey: account.apiKey,
    content: 'Talk [[tokens=100]]',
  })
  await firstText
  await cluster.workers[0]?.kill()
  await expect.poll(() => demandOf(SERVED)?.waiting, WAIT).toBe(1)
  await scaler.publishState(SERVED, { etaMs: 60_000 })
  const publishing = setInterval(() => void scaler.publishState(SERVED, { etaMs: 60_000 }), 500)
  // This lasts longer than two checks of the gateway. Without the scaler's prediction, each would give the generation
  // up.
  const seen = scaler.demands.length
  await expect.poll(() => scaler.demands.length - seen, WAIT).toBeGreaterThan(10)
  expect(demandOf(SERVED)).toMatchObject({ waiting: 1 })
  await cluster.restartWorker(0)
  expect(await answer).toMatchObject({ finishReason: 'stop', completionTokens: 101 })
  clearInterval(publishing)
  await expectBalancedBooks(cluster, [account])
})
