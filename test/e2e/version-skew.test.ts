import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { expect, onTestFinished } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { settlementStreamKey } from '#libs/queue-redis/keys.ts'
import { EVENT_MARKER, NEED_MARKER } from '../fixtures/other-release/markers.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { chat, chatOk } from '../support/chat.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'
import { test } from '../support/cluster-test.ts'
import { OTHER_RELEASE, THIS_RELEASE } from '../support/other-release.ts'
import { startOwnGateway, startOwnWorkers } from '../support/own-parts.ts'
import { FILE_MODELS, UNSERVED_MODELS } from '../support/shared-models.ts'
import { startChatOk } from '../support/start-chat.ts'

const LONG = 'Talk [[tokens=400]]'

test('a worker of another release: its unknown fields are ignored, an unknown event ends its own stream alone', async ({
  cluster,
  account,
  endpoint,
}) => {
  const { model } = UNSERVED_MODELS['version-skew']
  const other = await startOwnWorkers(cluster, [[{ model, files: 'demo', stepMs: 3 }]], OTHER_RELEASE)
  onTestFinished(() => other.stop())
  const call = { ...endpoint, model }
  const beside = startChatOk({ ...call, content: LONG })
  await beside.firstText
  const failed = await chat({ ...call, content: `Hello ${EVENT_MARKER}` })
  expect(failed).toMatchObject({ status: 502, error: { code: 'upstream_error' } })
  const { text, completionTokens } = await beside.answer
  expect(text.length).toBeGreaterThan(1_000)
  expect(completionTokens).toBe(401)
  const { text: after } = await chatOk({ ...call, content: 'Hello' })
  expect(after).toContain('You said: Hello')
  // The failed request costs nothing, and no process was taken for dead.
  await expectBalancedBooks(cluster, [account])
})

test('a gateway of another release: its unknown fields are ignored, and what needs its release waits for it', async ({
  cluster,
  account,
}) => {
  const { engine } = FILE_MODELS['version-skew']
  const gateway = await startOwnGateway(cluster, OTHER_RELEASE)
  onTestFinished(() => gateway.stop())
  const call = { baseUrl: gateway.baseUrl, apiKey: account.apiKey, model: engine.model }
  const { text } = await chatOk({ ...call, content: 'Hello' })
  expect(text).toContain('You said: Hello')
  const long = 'Large: '.padEnd(20_000, 'word ')
  const large = await chatOk({ ...call, content: long, fields: { max_tokens: 5 } })
  expect(large.completionTokens).toBe(5)

  const waiting = startChatOk({ ...call, content: `Hello ${NEED_MARKER}` })
  let isAnswered = false
  void waiting.answer.then(() => (isAnswered = true))
  // The worker of this release has free slots, and claims each second.
  for (let i = 0; i < 3; i++) await chatOk({ ...call, content: LONG })
  expect(isAnswered).toBe(false)

  const other = await startOwnWorkers(cluster, [[engine]], OTHER_RELEASE)
  onTestFinished(() => other.stop())
  expect((await waiting.answer).text).toContain('You said: Hello')
  const [worker] = other.workers
  if (worker === undefined) throw new Error('one worker was started')
  expect(await cluster.metric(worker, 'millrace_worker_generations_total', { result: 'ran' })).toBe(1)
  await expectBalancedBooks(cluster, [account])
})

// The test has a cluster of its own, because it replaces every process. Other files must not get a billing of another
// release.
test('an upgrade, process by process under load: every answer is whole, and all of it is charged', async () => {
  const engine = { model: 'demo-chat', files: 'demo', stepMs: 10 }
  const own = await startCluster({
    workers: [[engine], [engine]],
    billingEnv: OTHER_RELEASE,
    workerEnv: OTHER_RELEASE,
    gatewayEnv: OTHER_RELEASE,
  })
  onTestFinished(() => own.stop())
  const limited = await createLimitedAccount(own)
  let baseUrl = own.baseUrl
  const over = new AbortController()
  const statuses = new Map<number, number>()
  const callers = Array.from({ length: 2 }, async () => {
    while (!over.signal.aborted) {
      const { status } = await chat({ baseUrl, apiKey: limited.apiKey, content: 'Talk [[tokens=40]]' })
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      // A caller that was refused repeats its request later.
      if (status !== 200) await pause(100)
    }
  })
  const servedMore = async () => {
    const before = statuses.get(200) ?? 0
    await expect.poll(() => statuses.get(200) ?? 0).toBeGreaterThan(before + 2)
  }
  const replaceWorker = async (index: number) => {
    await own.workers[index]?.stop()
    await own.restartWorker(index, THIS_RELEASE)
  }
  const replacements = [
    async () => await replaceWorker(0),
    async () => {
      const [replaced] = own.gateways
      baseUrl = (await own.addGateway(THIS_RELEASE)).baseUrl
      await replaced?.stop()
    },
    async () => {
      await own.billing.stop()
      await own.restartBilling(THIS_RELEASE)
    },
    async () => await replaceWorker(1),
  ]
  // In this order, processes of each app of one release work with those of each other app of the other release. A
  // rollback gives no other pairs.
  for (const replace of replacements) {
    const stream = startChatOk({ baseUrl, apiKey: limited.apiKey, content: LONG })
    await stream.firstText
    await replace()
    expect((await stream.answer).completionTokens).toBe(401)
    await servedMore()
  }
  over.abort()
  await Promise.all(callers)

  // While billing restarts, no reservation is possible.
  expect([...statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([])
  await expectBalancedBooks(own, [limited])
  const { deadLetters, alarms } = await own.admin.call(ADMIN.readState, {})
  expect({ deadLetters, alarms }).toEqual({ deadLetters: [], alarms: [] })
  const redis = new Redis(own.redis.url)
  const entries = await redis.xrange(settlementStreamKey('demo-chat'), '-', '+')
  redis.disconnect()
  // Both releases wrote.
  expect(new Set(entries.map(([, fields]) => fields.includes('preview')))).toEqual(new Set([true, false]))
})

/** Creates an account whose settlements do not take the short way in billing, so that billing reads their receipts. */
async function createLimitedAccount(own: TestCluster): Promise<TestAccount> {
  const { id } = await own.createAccount('100')
  const limit = { amountNano: '50000000000', period: 'day' } as const
  const key = await own.admin.call(ADMIN.createKey, { account: id, name: 'limited', spendLimit: limit })
  return { id, keyId: key.id, apiKey: key.secret }
}
