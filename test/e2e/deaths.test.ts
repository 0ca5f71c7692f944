import { afterEach, expect, test } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import { chat, chatOk } from '../support/chat.ts'
import { startChat, startChatOk } from '../support/start-chat.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'

const ENGINE = { model: 'demo-chat', files: 'demo', maxNumSeqs: 8, stepMs: 20 }
const LONG = 'Talk [[tokens=1800]]'

let cluster: TestCluster | undefined

afterEach(async () => {
  await cluster?.stop()
  cluster = undefined
})

/** Starts streams and resolves when each has its first text. */
async function startStreams(running: TestCluster, account: TestAccount, baseUrls: string[]) {
  const chats = baseUrls.map((baseUrl) => startChat({ baseUrl, apiKey: account.apiKey, content: LONG }))
  const answers = chats.map(({ answer }) => answer.catch(() => 'connection lost' as const))
  await Promise.all(chats.map(({ firstText }) => firstText))
  expect(await running.metric(running.simulator, 'millrace_simulator_running')).toBe(baseUrls.length)
  return answers
}

test('a worker killed with -9: a clear error, nothing charged, nothing held, the engine freed', async () => {
  cluster = await startCluster({ workers: [[ENGINE]] })
  const account = await cluster.createAccount('100')
  const before = await cluster.balance(account)
  const answers = await startStreams(cluster, account, [cluster.baseUrl, cluster.baseUrl])
  await cluster.workers[0]?.kill()
  for (const answer of await Promise.all(answers)) {
    expect(answer).toMatchObject({
      finishReason: null,
      streamError: { code: 'upstream_error', type: 'api_error' },
    })
  }
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBe(before.posted)
  expect(await cluster.metric(cluster.simulator, 'millrace_simulator_running')).toBe(0)
  const refused = await chat({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, content: 'Anybody?' })
  expect(refused).toMatchObject({ status: 503, error: { code: 'model_unavailable' } })
})

test('a gateway killed with -9: the engine is freed, nothing charged, nothing held; the other gateway serves', async () => {
  cluster = await startCluster({ gateways: 2, workers: [[ENGINE]] })
  const account = await cluster.createAccount('100')
  const before = await cluster.balance(account)
  const [doomed, other] = cluster.gateways
  if (doomed === undefined || other === undefined) throw new Error('two gateways were asked for')
  const answers = await startStreams(cluster, account, [doomed.baseUrl, doomed.baseUrl])
  await doomed.kill()
  expect(await Promise.all(answers)).toEqual(['connection lost', 'connection lost'])
  const running = cluster
  await expect
    .poll(async () => await running.metric(running.simulator, 'millrace_simulator_running'), {
      timeout: 20_000,
    })
    .toBe(0)
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBe(before.posted)
  expect((await chatOk({ baseUrl: other.baseUrl, apiKey: account.apiKey, content: 'Hi' })).text).toBe(
    'You said: Hi',
  )
})

test('an engine that dies: a clear error, nothing charged, and the worker stops pulling', async () => {
  cluster = await startCluster({ workers: [[ENGINE]] })
  const account = await cluster.createAccount('100')
  const before = await cluster.balance(account)
  const answers = await startStreams(cluster, account, [cluster.baseUrl])
  await cluster.simulator.kill()
  expect(await Promise.all(answers)).toMatchObject([{ streamError: { code: 'upstream_error' } }])
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBe(before.posted)
  const running = cluster
  const ask = async () =>
    await chat({ baseUrl: running.baseUrl, apiKey: account.apiKey, content: 'Anybody?' })
  await expect.poll(async () => (await ask()).status, { timeout: 15_000 }).toBe(503)
})

test('an engine that comes back is pulled for again', async () => {
  cluster = await startCluster({ workers: [[ENGINE]] })
  const account = await cluster.createAccount('100')
  const running = cluster
  const status = async () =>
    (await chat({ baseUrl: running.baseUrl, apiKey: account.apiKey, content: 'Anybody?' })).status
  const workerReady = async () => (await fetch(`${running.workers[0]?.opsUrl}/readyz`)).ok
  const setDead = async (dead: boolean) => {
    const change = { method: 'POST', body: JSON.stringify({ dead }) }
    expect((await fetch(`${running.simulator.opsUrl}/faults`, change)).ok).toBe(true)
  }
  for (let turn = 0; turn < 2; turn += 1) {
    expect(await status()).toBe(200)
    await setDead(true)
    await expect.poll(workerReady, { timeout: 15_000 }).toBe(false)
    await setDead(false)
    await expect.poll(workerReady, { timeout: 15_000 }).toBe(true)
    await expect.poll(status, { timeout: 15_000 }).toBe(200)
  }
  await expectBalancedBooks(cluster, [account])
})

test.each(['workers', 'gateways'] as const)(
  '%s that receive SIGTERM let running generations end first',
  async (kind) => {
    cluster = await startCluster({ workers: [[ENGINE]] })
    const account = await cluster.createAccount('100')
    const { answer, firstText } = startChatOk({
      baseUrl: cluster.baseUrl,
      apiKey: account.apiKey,
      content: 'Talk [[tokens=100]]',
    })
    await firstText
    const [stopping] = cluster[kind]
    await stopping?.stop()
    // An idle keep-alive connection must not keep a gateway running until its grace is over.
    expect(stopping?.logs()).toContain('stopped')
    expect(stopping?.logs()).not.toContain('release failed')
    expect(await answer).toMatchObject({ finishReason: 'stop', completionTokens: 101 })
    await expectBalancedBooks(cluster, [account])
  },
)

test('a queue Redis that stops answering: new work is refused with 503 and served again when it is back', async () => {
  cluster = await startCluster({ workers: [[ENGINE]] })
  const account = await cluster.createAccount('100')
  const running = cluster
  const ask = async () => await chat({ baseUrl: running.baseUrl, apiKey: account.apiKey, content: 'Hi' })
  expect((await ask()).status).toBe(200)
  cluster.redis.signal('SIGSTOP')
  expect(await ask()).toMatchObject({ status: 503, error: { code: 'model_unavailable' } })
  cluster.redis.signal('SIGCONT')
  await expect.poll(async () => (await ask()).status, { timeout: 20_000 }).toBe(200)
  await cluster.redis.kill()
  expect(await ask()).toMatchObject({ status: 503 })
  await cluster.redis.start()
  await expect.poll(async () => (await ask()).status, { timeout: 20_000 }).toBe(200)
  await expectBalancedBooks(cluster, [account])
})
