import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { MODEL_STATES, subscribeSignal } from '#libs/event-bus/scaling-signals.ts'
import { createRedis, type TestRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { startFakeCluster, type FakeCluster } from './fake-cluster.ts'
import { startFakeGateway, type FakeGateway } from './fake-gateway.ts'
import { poolOf, runKedaLoops, startScaler, type RunningScaler } from './scaler-under-test.ts'

// All tests share two scalers. Each test has a pool of its own, with its own name and model. When the scalers start,
// the pool has these pods, and each pod's worker runs `running` generations.

/** The time between two readings that a scaler must compute anew. */
const LOOK_MS = 200

const COST = 'controller.kubernetes.io/pod-deletion-cost'

const BUSY = { replicas: 3, running: 5, fields: {} }
const SOON_IDLE = { idleSeconds: 1 }
const POOLS = {
  emptied: BUSY,
  recalled: BUSY,
  released: BUSY,
  unlisted: BUSY,
  ended: { replicas: 2, running: 5, fields: SOON_IDLE },
  unused: { replicas: 2, running: 0, fields: SOON_IDLE },
  paused: BUSY,
  demanded: { replicas: 0, running: 0, fields: {} },
}
type Pool = keyof typeof POOLS

let redis: TestRedis
let cluster: FakeCluster
let gateway: FakeGateway
let scalers: RunningScaler[] = []
/** KEDA's loops for the pool `unused`, which loses its pods as soon as the scalers have started. */
let loopsOfUnused: ReturnType<typeof runKedaLoops>

beforeAll(async () => {
  redis = await createRedis()
  cluster = await startFakeCluster(redis.url)
  gateway = startFakeGateway(redis.url)
  for (const [name, { replicas, running }] of Object.entries(POOLS)) {
    cluster.addPool({ name, model: name, replicas })
    await until(async () => cluster.workers(name).length === replicas)
    for (const worker of cluster.workers(name)) worker.running = running
  }
  cluster.pause('paused', true)
  const pools = Object.entries(POOLS).map(([name, { fields }]) => poolOf(name, fields))
  const options = { redisUrl: redis.url, apiUrl: cluster.url, name: 'scale-in', pools }
  scalers = await Promise.all([startScaler(options), startScaler(options)])
  loopsOfUnused = runLoops('unused')
})

afterAll(async () => {
  await loopsOfUnused.stop()
  await Promise.all(scalers.map(async (scaler) => await scaler.end()))
  gateway.stop()
  await cluster.close()
  await redis.stop()
})

const runLoops = (pool: Pool) =>
  runKedaLoops({
    scalers,
    pool,
    scale: (number) => cluster.scale(pool, number),
    replicas: () => cluster.replicas(pool),
  })

/** Runs KEDA's loops over the pool until the test ends. */
function follow(pool: Pool): void {
  const loops = runLoops(pool)
  onTestFinished(async () => await loops.stop())
}

const isOf = (pool: Pool) => (pod: string) => pod.startsWith(`${pool}-`)
const cordoned = (pool: Pool) => cluster.workers(pool).filter(({ terms }) => terms.length > 0)
const deleted = (pool: Pool) => cluster.deleted.filter(({ pod }) => isOf(pool)(pod))
const patches = (pool: Pool) =>
  cluster.api.requests.filter((request) => request.startsWith(`PATCH /api/v1/namespaces/lab/pods/${pool}-`))
const podNames = (pool: Pool) => cluster.pods(pool).map(({ metadata }) => metadata.name)
const modelOf = async (pool: Pool) => (await scalers[0]?.models())?.find(({ model }) => model === pool)

test('of three busy workers one is cordoned, runs empty, and only then its pod is deleted', async () => {
  follow('emptied')
  // 15 generations run, so two replicas with 10 slots each are enough.
  await until(async () => cordoned('emptied').length === 1)
  const [chosen] = cordoned('emptied')
  const name = chosen?.pod ?? ''
  // While the worker runs a generation, its cordon is renewed and its replica stays.
  await until(async () => (chosen?.terms.length ?? 0) >= 3)
  expect(cluster.replicas('emptied')).toBe(3)
  expect(deleted('emptied')).toEqual([])
  if (chosen !== undefined) chosen.running = 0
  await until(async () => deleted('emptied').length === 1)
  expect(deleted('emptied')).toEqual([{ pod: name, running: 0 }])
  expect(cluster.replicas('emptied')).toBe(2)
  expect(patches('emptied')).toEqual([`PATCH /api/v1/namespaces/lab/pods/${name}`])
  const [term] = new Set(chosen?.terms)
  expect(chosen?.terms.every((sent) => sent === term)).toBe(true)
})

test('load that returns during a cordon ends it, and no pod is created or deleted', async () => {
  follow('recalled')
  await until(async () => cordoned('recalled').length === 1)
  const pods = podNames('recalled')
  for (const worker of cluster.workers('recalled')) worker.running = 10
  const metrics = async () =>
    (await Promise.all(scalers.map(async (scaler) => await scaler.metrics()))).join('\n')
  await until(
    async () => /\{[^}]*model="recalled"[^}]*phase="ready"\} 3$/m.test(await metrics()),
    30_000,
    LOOK_MS,
  )
  expect(podNames('recalled')).toEqual(pods)
  expect(cluster.replicas('recalled')).toBe(3)
  expect(await metrics()).toContain('millrace_scaler_model_gpus{model="recalled"} 3')
})

// In this test KEDA does not act, so the number of replicas is not lowered.
test('load that returns after the release takes the deletion cost back', async () => {
  await until(async () => cordoned('released').length === 1)
  for (const worker of cordoned('released')) worker.running = 0
  const costs = () => cluster.pods('released').map(({ metadata }) => metadata.annotations?.[COST])
  await until(async () => costs().includes('-1000'))
  for (const worker of cluster.workers('released')) worker.running = 10
  await until(async () => costs().every((cost) => cost === undefined))
  await until(async () => (await scalers[0]?.keda.target('released')) === 3, 30_000, LOOK_MS)
  expect(deleted('released')).toEqual([])
})

test('the number stays until Kubernetes lists the deletion cost', async () => {
  follow('unlisted')
  await until(async () => cordoned('unlisted').length === 1)
  cluster.api.failPatches(true)
  for (const worker of cordoned('unlisted')) worker.running = 0
  await until(async () => patches('unlisted').length >= 3)
  expect(cluster.replicas('unlisted')).toBe(3)
  cluster.api.failPatches(false)
  await until(async () => deleted('unlisted').length === 1)
  expect(deleted('unlisted')[0]?.running).toBe(0)
})

test('a model whose load ends goes to zero pod by pod, each of them idle', async () => {
  follow('ended')
  await until(async () => cordoned('ended').length === 1)
  for (const worker of cordoned('ended')) worker.running = 0
  await until(async () => deleted('ended').length === 1)
  const [last] = cluster.workers('ended')
  expect(last?.running).toBe(5)
  if (last !== undefined) last.running = 0
  await until(async () => cluster.replicas('ended') === 0, 120_000)
  expect(deleted('ended').map(({ running }) => running)).toEqual([0, 0])
}, 150_000)

// Both pods may be released in the same second; then the target is 0 while there are two pods.
test('a model that never ran anything goes to zero', async () => {
  await until(async () => cluster.replicas('unused') === 0, 120_000)
  expect(deleted('unused')).toHaveLength(2)
}, 150_000)

test('a paused ScaledObject keeps its pods, and no worker is cordoned', async () => {
  follow('paused')
  await until(async () => (await modelOf('paused'))?.['state'] === 'serving', 30_000, LOOK_MS)
  for (const worker of cluster.workers('paused')) worker.running = 0
  await until(
    async () => JSON.stringify(await modelOf('paused')).includes('"reason":"paused"'),
    30_000,
    LOOK_MS,
  )
  expect(cluster.replicas('paused')).toBe(3)
  expect(cordoned('paused')).toEqual([])
})

test('demand for a model at zero starts a worker, and gateways receive its states', async () => {
  const states = new Set<string>()
  const subscriber = new Redis(redis.url)
  onTestFinished(() => subscriber.disconnect())
  await subscribeSignal({ subscriber, log: pino({ level: 'silent' }) }, MODEL_STATES, ({ models }) => {
    for (const { model, state } of models) if (model === 'demanded') states.add(state)
  })
  follow('demanded')
  await until(async () => states.has('stopped'))
  await gateway.refuse('demanded')
  await until(async () => cluster.replicas('demanded') === 1 && states.has('serving'))
  expect([...states].slice(0, 2)).toEqual(['stopped', 'warming'])
  gateway.setRate('demanded', 6)
  // 6 requests per second that take 10 s each fill 60 slots.
  await until(async () => cluster.replicas('demanded') >= 5, 60_000)
})
