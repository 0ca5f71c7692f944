import { status } from '@grpc/grpc-js'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { asScalerUser, SCALER_USER_SETTING } from '../../support/app-user.ts'
import { createRedis, type TestRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { DEPLOYMENTS, startFakeCluster, type FakeCluster } from './fake-cluster.ts'
import { startFakeGateway, type FakeGateway } from './fake-gateway.ts'
import { poolOf, startScaler, type RunningScaler } from './scaler-under-test.ts'

const MODELS = Array.from({ length: 200 }, (_, index) => `model-${index}`)
let redis: TestRedis
let cluster: FakeCluster
let gateway: FakeGateway
let first: RunningScaler
let second: RunningScaler

beforeAll(async () => {
  redis = await createRedis(SCALER_USER_SETTING)
  cluster = await startFakeCluster(redis.url)
  gateway = startFakeGateway(redis.url)
  for (const name of MODELS) cluster.addPool({ name, model: name, replicas: 0 })
  cluster.addPool({ name: 'gateways', model: 'none', replicas: 0 })
  const options = {
    redisUrl: asScalerUser(redis.url),
    apiUrl: cluster.url,
    name: 'calls',
    pools: MODELS.map((name) => poolOf(name)),
    gateway: { deployment: 'gateways', min: 2, max: 9, streamsPerPod: 100 },
  }
  first = await startScaler(options)
  second = await startScaler(options)
})

afterAll(async () => {
  await Promise.all([first, second].map(async (scaler) => await scaler.end()))
  gateway.stop()
  await cluster.close()
  await redis.stop()
})

const both = async <Answer>(ask: (scaler: RunningScaler) => Promise<Answer>) =>
  await Promise.all([first, second].map(ask))

test('both scalers answer alike: targets, activity, and a target of 1 for the one metric', async () => {
  const spec = [{ metricName: 'replicas', targetSize: '1', targetSizeFloat: 1 }]
  expect(await both(async ({ keda }) => await keda.spec('model-0'))).toEqual([spec, spec])
  expect(await both(async ({ keda }) => await keda.target('model-0'))).toEqual([0, 0])
  expect(await both(async ({ keda }) => await keda.isActive('model-0'))).toEqual([false, false])
  expect(await both(async ({ keda }) => await keda.target('gateways'))).toEqual([2, 2])
  expect(new Set(await both(async (scaler) => await scaler.isLeader()))).toEqual(new Set([false, true]))
})

test('an unknown pool has a metric all the same, and no number', async () => {
  expect(await first.keda.spec('unknown')).toHaveLength(1)
  await expect(first.keda.target('unknown')).rejects.toMatchObject({ code: status.NOT_FOUND })
  await expect(first.keda.isActive('unknown')).rejects.toMatchObject({ code: status.NOT_FOUND })
})

test('the stream of metric specs is not implemented', async () => {
  const stream = first.keda.watchSpec('model-0')
  await until(async () => stream.code !== null)
  expect(stream.code).toBe(status.UNIMPLEMENTED)
})

test('a request that was refused for want of a worker is pushed to both streams at once', async () => {
  // Without the Deployment, the scaler does not repeat the activation.
  cluster.api.remove(DEPLOYMENTS, 'model-1')
  const streams = [first, second].map(({ keda }) => keda.watch('model-1'))
  onTestFinished(() => {
    for (const stream of streams) stream.cancel()
  })
  await both(async ({ keda }) => await keda.spec('model-1'))
  const startedMs = performance.now()
  await gateway.refuse('model-1')
  await until(async () => streams.every(({ messages }) => messages > 0))
  console.log(`pushed to both within ${Math.round(performance.now() - startedMs)} ms`)
  expect(await both(async ({ keda }) => await keda.target('model-1'))).toEqual([1, 1])
  expect(await both(async ({ keda }) => await keda.isActive('model-1'))).toEqual([true, true])
  expect(streams.map(({ messages }) => messages)).toEqual([1, 1])
  // While the Deployment has no replica, the scaler repeats the activation.
  cluster.scale('model-1', 0)
  const before = streams.map(({ messages }) => messages)
  await until(async () => streams.every(({ messages }, index) => messages > (before[index] ?? 0)))
})

test('open streams decide the number of gateways', async () => {
  gateway.setStreams(450)
  const targets = async () => await both(async ({ keda }) => await keda.target('gateways'))
  await until(async () => (await targets()).every((target) => target === 5))
  expect(await targets()).toEqual([5, 5])
})

test('the operators page says why, on the leader and on the other one', async () => {
  for (const models of await both(async (scaler) => await scaler.models())) {
    expect(models).toHaveLength(MODELS.length)
    expect(models[1]).toMatchObject({ model: 'model-1', need: 1, term: 'unserved', state: 'warming' })
    expect(models[1]?.why).toMatch(/^1 needed: a request waits, or was refused/)
  }
})

test('answers come from memory', async () => {
  for (const { keda } of [first, second]) keda.times.length = 0
  for (const name of MODELS) {
    await both(async ({ keda }) => [await keda.target(name), await keda.isActive(name)])
  }
  const times = [first, second].flatMap(({ keda }) => keda.times).toSorted((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)]?.toFixed(2)
  console.log(`${times.length} calls at ${MODELS.length} models: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`)
  expect(times).toHaveLength(MODELS.length * 4)
})

test('without Redis the answers become UNAVAILABLE, the metric stays, and both come back with it', async () => {
  const startedMs = performance.now()
  await redis.stop()
  await until(async () => {
    const found = await both(async ({ keda }) => await keda.target('model-1').catch(({ code }) => code))
    return found.every((code) => code === status.UNAVAILABLE)
  }, 60_000)
  console.log(`stale after ${Math.round(performance.now() - startedMs)} ms`)
  expect(await both(async ({ keda }) => await keda.isActive('model-0').catch(({ code }) => code))).toEqual([
    status.UNAVAILABLE,
    status.UNAVAILABLE,
  ])
  expect(await first.keda.spec('model-1')).toHaveLength(1)
  await redis.start()
  await until(async () => {
    const found = await both(async ({ keda }) => await keda.target('model-0').catch(() => null))
    return found.every((target) => target === 0)
  }, 60_000)
}, 120_000)
