import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import { chat } from '../support/chat.ts'
import { startCluster, type TestCluster } from '../support/cluster.ts'
import { startChat } from '../support/start-chat.ts'

const WAIT = { timeout: 20_000, interval: 50 }
const LONG = 'Talk [[tokens=1800]]'

let cluster: TestCluster

beforeAll(async () => {
  cluster = await startCluster({
    workers: [[{ model: 'demo-chat', files: 'demo', maxNumSeqs: 1, stepMs: 50 }]],
    gatewayEnv: { DRAIN_GRACE_MS: '4000', STREAM_HEADERS_AFTER_S: '60' },
  })
})
afterAll(async () => await cluster.stop())

test('a stopping gateway is unready at once, refuses new work, and ends by itself what outlasts its grace', async () => {
  const [runs, waits] = [await cluster.createAccount('10'), await cluster.createAccount('10')]
  const posted = (await cluster.balance(runs)).posted
  const [gateway] = cluster.gateways
  if (gateway === undefined) throw new Error('a cluster has a gateway')
  const { baseUrl } = cluster
  const running = startChat({ baseUrl, apiKey: runs.apiKey, content: LONG })
  await running.firstText
  const waiting = chat({ baseUrl, apiKey: waits.apiKey, content: LONG })
  await expect.poll(async () => (await cluster.balance(waits)).openHolds, WAIT).toBe(1)

  const stopped = gateway.stop()
  await expect
    .poll(async () => await (await fetch(`${gateway.opsUrl}/readyz`)).text(), WAIT)
    .toBe('stopping\n')
  expect(await chat({ baseUrl, apiKey: runs.apiKey, content: 'Hi' })).toMatchObject({
    status: 503,
    error: { code: 'model_unavailable' },
    retryAfter: '1',
  })

  expect(await running.answer).toMatchObject({ status: 200, streamError: { code: 'upstream_error' } })
  expect(await waiting).toMatchObject({ status: 503, error: { code: 'model_unavailable' } })
  await stopped
  expect(gateway.logs()).toMatch(/^(?![^]*release failed)[^]*stopped/u)
  await expectBalancedBooks(cluster, [runs, waits])
  expect((await cluster.balance(runs)).posted).toBe(posted)
})
