import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MODEL_STATES, subscribeSignal } from '#libs/event-bus/scaling-signals.ts'
import { createRedis, type TestRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { startFakeCluster, type FakeCluster } from './fake-cluster.ts'
import { startFakeGateway, type FakeGateway } from './fake-gateway.ts'
import { poolOf, runKedaLoops, startScaler, type RunningScaler } from './scaler-under-test.ts'

const COST = 'controller.kubernetes.io/pod-deletion-cost'
let redis: TestRedis
let cluster: FakeCluster
let gateway: FakeGateway
let scalers: RunningScaler[] = []
let loops: ReturnType<typeof runKedaLoops>

beforeEach(async () => {
  redis = await createRedis()
  cluster = await startFakeCluster(redis.url)
  gateway = startFakeGateway(redis.url)
})

afterEach(async () => {
  await loops.stop()
  await Promise.all(scalers.map(async (scaler) => await scaler.end()))
  gateway.stop()
  await cluster.close()
  await redis.stop()
})

/** Two scalers of a pool that has this many pods, whose workers run `running` each, and KEDA's loops over them. */
async function start(replicas: number, pool: Record<string, unknown> = {}, running = 5) {
  cluster.addPool({ name: 'pool', model: 'model', replicas })
  await until(async () => cluster.workers('pool').length === replicas)
  for (const worker of cluster.workers('pool')) worker.running = running
  const pools = [poolOf('pool', { model: 'model', ...pool })]
  const options = { redisUrl: redis.url, apiUrl: cluster.url, name: 'scale-in', pools }
  scalers = await Promise.all([startScaler(options), startScaler(options)])
  loops = runKedaLoops({
    scalers,
    pool: 'pool',
    scale: (number) => cluster.scale('pool', number),
    replicas: () => cluster.replicas('pool'),
  })
}

const cordoned = () => cluster.workers('pool').filter(({ terms }) => terms.length > 0)

test('of three busy workers one is cordoned, runs empty, and only then its pod is deleted', async () => {
  await start(3)
  // 15 run: two replicas of 10 slots are enough.
  await until(async () => cordoned().length === 1)
  const [chosen] = cordoned()
  const name = chosen?.pod ?? ''
  // Its cordon is renewed, and its replica stays, for as long as it runs something.
  await until(async () => (chosen?.terms.length ?? 0) >= 3)
  expect(cluster.replicas('pool')).toBe(3)
  expect(cluster.deleted).toEqual([])
  if (chosen !== undefined) chosen.running = 0
  await until(async () => cluster.deleted.length === 1)
  expect(cluster.deleted).toEqual([{ pod: name, running: 0 }])
  expect(cluster.replicas('pool')).toBe(2)
  expect(cluster.api.requests.filter((request) => request.startsWith('PATCH'))).toEqual([
    `PATCH /api/v1/namespaces/lab/pods/${name}`,
  ])
  const [term] = new Set(chosen?.terms)
  expect(chosen?.terms.every((sent) => sent === term)).toBe(true)
})

test('load that returns during a cordon ends it, and no pod is created or deleted', async () => {
  await start(3)
  await until(async () => cordoned().length === 1)
  const pods = cluster.pods('pool').map(({ metadata }) => metadata.name)
  for (const worker of cluster.workers('pool')) worker.running = 10
  await until(
    async () =>
      (await scalers[0]?.metrics())?.includes('phase="ready"} 3') === true ||
      (await scalers[1]?.metrics())?.includes('phase="ready"} 3') === true,
  )
  expect(cluster.pods('pool').map(({ metadata }) => metadata.name)).toEqual(pods)
  expect(cluster.replicas('pool')).toBe(3)
  const metrics = await Promise.all(scalers.map(async (scaler) => await scaler.metrics()))
  expect(metrics.join('\n')).toContain('millrace_scaler_model_gpus{model="model"} 3')
})

test('load that returns after the release takes the deletion cost back', async () => {
  await start(3)
  // So the number of replicas is not lowered.
  await loops.stop()
  await until(async () => cordoned().length === 1)
  for (const worker of cordoned()) worker.running = 0
  const costs = () => cluster.pods('pool').map(({ metadata }) => metadata.annotations?.[COST])
  await until(async () => costs().includes('-1000'))
  for (const worker of cluster.workers('pool')) worker.running = 10
  await until(async () => costs().every((cost) => cost === undefined))
  await until(async () => (await scalers[0]?.keda.target('pool')) === 3)
  expect(cluster.deleted).toEqual([])
})

test('the number stays until Kubernetes lists the deletion cost', async () => {
  await start(3)
  await until(async () => cordoned().length === 1)
  cluster.api.failPatches(true)
  for (const worker of cordoned()) worker.running = 0
  const patches = () => cluster.api.requests.filter((request) => request.startsWith('PATCH'))
  await until(async () => patches().length >= 3)
  expect(cluster.replicas('pool')).toBe(3)
  cluster.api.failPatches(false)
  await until(async () => cluster.deleted.length === 1)
  expect(cluster.deleted[0]?.running).toBe(0)
})

test('a model whose load ends goes to zero pod by pod, each of them idle', async () => {
  await start(2, { idleSeconds: 1 })
  await until(async () => cordoned().length === 1)
  for (const worker of cordoned()) worker.running = 0
  await until(async () => cluster.deleted.length === 1)
  const [last] = cluster.workers('pool')
  expect(last?.running).toBe(5)
  if (last !== undefined) last.running = 0
  await until(async () => cluster.replicas('pool') === 0, 120_000)
  expect(cluster.deleted.map(({ running }) => running)).toEqual([0, 0])
}, 150_000)

// Both pods may be released in the same second: the target is 0 then, with two pods.
test('a model that never ran anything goes to zero', async () => {
  await start(2, { idleSeconds: 1 }, 0)
  await until(async () => cluster.replicas('pool') === 0, 120_000)
  expect(cluster.deleted).toHaveLength(2)
}, 150_000)

test('a paused ScaledObject keeps its pods, and no worker is cordoned', async () => {
  cluster.pause('pool', true)
  await start(3)
  cluster.pause('pool', true)
  await until(async () => (await scalers[0]?.models())?.[0]?.['state'] === 'serving')
  for (const worker of cluster.workers('pool')) worker.running = 0
  await until(async () => JSON.stringify(await scalers[0]?.models()).includes('"reason":"paused"'))
  expect(cluster.replicas('pool')).toBe(3)
})

test('demand for a model at zero starts a worker, and gateways receive its states', async () => {
  const states = new Set<string>()
  const subscriber = new Redis(redis.url)
  await subscribeSignal({ subscriber, log: pino({ level: 'silent' }) }, MODEL_STATES, ({ models }) => {
    for (const { state } of models) states.add(state)
  })
  await start(0)
  await until(async () => states.has('stopped'))
  await gateway.refuse('model')
  await until(async () => cluster.replicas('pool') === 1 && states.has('serving'))
  subscriber.disconnect()
  expect([...states].slice(0, 2)).toEqual(['stopped', 'warming'])
  gateway.setRate('model', 6)
  // 6/s for 10 s each fill 60 slots.
  await until(async () => cluster.replicas('pool') >= 5, 60_000)
})
