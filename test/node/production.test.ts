import { afterAll, beforeAll, expect, test } from 'vitest'
import { embed } from '../support/embeddings.ts'
import { askConsole } from './ask-console.ts'
import { createCustomer, type Customer } from './customer.ts'
import { engineOf, setFaults, signalEngine, workerOf } from './engine.ts'
import { applyObjects } from './programs.ts'
import {
  CHAT,
  EMBEDDING,
  GATEWAYS,
  prepareProduction,
  PRICES,
  productionValues,
  type Production,
} from './production.ts'
import { objectsIn, POLL, type Pod } from './release.ts'

/** The tokens of an answer that takes at least 16 s at the simulator's speed. */
const LONG = 2_000
/** More than the slots of one engine, so that each of two engines runs some. */
const STREAMS = CHAT.slots + 2

const WITHOUT_EMBEDDINGS = { models: { 'embed-small': { enabled: false } } }

let production: Production
let customer: Customer
let reference = ''
let objectsBefore: string[] = []

beforeAll(async () => {
  production = await prepareProduction()
  const { release, adminToken } = production
  objectsBefore = await objectsIn(release.namespace, release.name)
  await release.upgrade(productionValues(WITHOUT_EMBEDDINGS))
  customer = await createCustomer(release, adminToken)
  reference = (await customer.start(CHAT.id, LONG).answer).text
})

afterAll(async () => await production?.close())

const chatPods = async () => (await workers()).map(({ metadata }) => metadata.uid).toSorted()
const workers = async () => await production.release.pods(CHAT.pool)

/** Starts streams. Resolves when each has its first text. Their answers must be whole. */
async function startStreams(count = STREAMS) {
  const streams = Array.from({ length: count }, () => customer.start(CHAT.id, LONG))
  const answers = Promise.all(streams.map(async ({ answer }) => await answer))
  answers.catch(() => {})
  await Promise.all(streams.map(async ({ firstText }) => await firstText))
  return {
    async whole() {
      const ended = await answers
      expect(ended).toEqual(
        ended.map(() =>
          expect.objectContaining({ text: reference, finishReason: 'stop', streamError: null }),
        ),
      )
      return ended
    },
  }
}

test('every pod is ready, and `helm test` passes with a key of a customer', async () => {
  const { release } = production
  expect(await release.pods('gateway')).toHaveLength(GATEWAYS)
  expect(await workers()).toHaveLength(CHAT.min)
  await applyObjects({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: release.namespace, name: 'millrace-test-key' },
    stringData: { key: customer.apiKey },
  })
  await release.test()
})

test('the console answers through its Service, at its own host alone: its page, the cluster, and billing', async () => {
  const { release, adminToken } = production
  const host = 'console.example'
  const ask = async (path: string) =>
    await askConsole(release.consoleUrl + path, { host, authorization: `Bearer ${adminToken}` })
  const openPage = async (as: string) => await askConsole(`${release.consoleUrl}/`, { host: as })
  expect(await openPage(host)).toMatchObject({ status: 200, body: expect.stringContaining('<script') })
  // Only programs may use another address.
  expect(await openPage(new URL(release.consoleUrl).host)).toMatchObject({ status: 421 })
  const me = await ask('/api/admin/me')
  expect([me.status, JSON.parse(me.body)]).toMatchObject([200, { role: 'owner' }])
  // The console works with read-only users of Redis.
  await expect
    .poll(async () => JSON.parse((await ask('/live/v1/cluster')).body), POLL)
    .toMatchObject({ view: { cluster: { workers: { ready: CHAT.min }, gateways: GATEWAYS } } })
  const { view } = JSON.parse((await ask('/live/v1/workers')).body)
  expect(view).toMatchObject({ sources: { busAwayMs: 0, queueAwayMs: 0 } })
})

test('an upgrade without a change replaces no pod', async () => {
  const { release } = production
  const before = await release.podIds()
  await release.upgrade(productionValues(WITHOUT_EMBEDDINGS))
  expect(await release.podIds()).toEqual(before)
})

test('a pod that is deleted while it starts goes within seconds', async () => {
  const { release } = production
  const before = (await release.pods('gateway')).map(({ metadata }) => metadata.name)
  await release.kubectl(['rollout', 'restart', 'deployment/mr-gateway'])
  const started = async () =>
    (await release.pods('gateway')).find(
      ({ metadata, status }) => !before.includes(metadata.name) && status.phase === 'Running',
    )?.metadata.name
  await expect.poll(started, { ...POLL, interval: 250 }).toBeTypeOf('string')
  // The pod's grace period is 635 s, but it must end earlier.
  await release.kubectl(['delete', 'pod', (await started()) ?? '', '--timeout', '180s'])
  await release.settled()
})

test.for([
  ['gateways', 'mr-gateway'],
  ['workers', CHAT.pool],
])(
  'streams go on while a roll-out replaces the %s, and each is charged once',
  async ([, deployment = '']) => {
    const { release } = production
    const before = await release.podIds()
    const part = deployment === CHAT.pool ? CHAT.pool : 'gateway'
    await customer.expectCharged(PRICES, async () => {
      const streams = await startStreams()
      await release.kubectl(['rollout', 'restart', `deployment/${deployment}`])
      const answers = await streams.whole()
      await release.settled()
      return answers
    })
    const after = await release.pods(part)
    expect(after.length).toBeGreaterThan(0)
    expect(after.filter(({ metadata }) => before.includes(metadata.uid))).toEqual([])
  },
)

const DEATHS: { name: string; hurt: (pod: Pod) => Promise<void> | void }[] = [
  { name: 'is killed', hurt: (pod) => signalEngine(pod, 'SIGKILL') },
  {
    name: 'gives no token any more',
    hurt: async (pod) => await setFaults(production.release, pod, { hangs: true }),
  },
  { name: 'is frozen', hurt: (pod) => signalEngine(pod, 'SIGSTOP') },
]

test.for(DEATHS)(
  'streams go on when an engine $name; its container alone starts again, and each stream is charged once',
  async ({ hurt }) => {
    const { release } = production
    const [before] = await workers()
    if (before === undefined) throw new Error('there is no worker')
    let after = before
    // The scaler replaces lost slots. It may then remove the hurt worker, because nothing runs on it, even before its
    // engine has started again. `after` is the pod as it was seen last.
    const find = async () => {
      const found = (await workers()).find(({ metadata }) => metadata.uid === before.metadata.uid)
      after = found ?? after
      return found
    }
    const restarts = () => engineOf(after).restartCount - engineOf(before).restartCount
    let isRemoved = false
    await customer.expectCharged(PRICES, async () => {
      const streams = await startStreams()
      await hurt(before)
      const isOver = async () => {
        isRemoved = (await find()) === undefined
        return isRemoved || restarts() > 0
      }
      await expect.poll(isOver, POLL).toBe(true)
      const answers = await streams.whole()
      await release.settled()
      return answers
    })
    await find()
    expect(workerOf(after).restartCount).toBe(workerOf(before).restartCount)
    expect(isRemoved ? 1 : restarts()).toBe(1)
  },
)

test('the scaler adds workers for many streams and takes them away under a few, and each stream is charged once', async () => {
  await customer.expectCharged(PRICES, async () => {
    const many = await startStreams(CHAT.max * CHAT.slots)
    await expect.poll(async () => (await workers()).length, POLL).toBe(CHAT.max)
    const answers = await many.whole()
    // Generations are spread over all workers, so no worker becomes idle by itself.
    const enough = new AbortController()
    const keepOne = async () => {
      while (!enough.signal.aborted) answers.push(...(await (await startStreams(1)).whole()))
    }
    const kept = Promise.all(Array.from({ length: CHAT.min }, keepOne))
    try {
      await expect.poll(async () => (await workers()).length, POLL).toBe(CHAT.min)
      await production.release.settled()
    } finally {
      enough.abort()
      await kept
    }
    return answers
  })
})

test('an upgrade with a new model replaces no pod of others; at zero the model answers 429, and then vectors', async () => {
  const { release } = production
  const before = await chatPods()
  await release.upgrade(productionValues())
  expect(await chatPods()).toEqual(before)
  const ask = async () =>
    await embed({
      baseUrl: release.baseUrl,
      apiKey: customer.apiKey,
      input: 'Hello!',
      fields: { model: EMBEDDING.id },
    })
  await expect.poll(async () => (await release.pods(EMBEDDING.pool)).length, POLL).toBe(0)
  const refused = await ask()
  expect(refused).toMatchObject({ status: 429, error: { code: 'model_warming' } })
  expect(Number('retryAfter' in refused ? refused.retryAfter : 0)).toBeGreaterThanOrEqual(1)
  await expect.poll(async () => (await ask()).status, POLL).toBe(200)
})

test('an upgrade without a model removes all that was its own', async () => {
  const { release } = production
  const own = async () =>
    (await objectsIn(release.namespace, release.name)).filter((name) => name.includes(EMBEDDING.pool))
  expect((await own()).length).toBeGreaterThan(3)
  await release.upgrade(productionValues(WITHOUT_EMBEDDINGS))
  await expect.poll(own, POLL).toEqual([])
  await release.test()
})

test('an uninstalled release leaves nothing but the Secrets that were there before', async () => {
  const { release } = production
  await release.kubectl(['delete', 'secret', 'millrace-test-key'])
  await release.uninstall()
  expect(objectsBefore.length).toBeGreaterThan(5)
  await expect.poll(async () => await objectsIn(release.namespace, release.name), POLL).toEqual(objectsBefore)
})
