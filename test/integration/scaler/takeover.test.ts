import { status } from '@grpc/grpc-js'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { scalerKeys } from '#libs/queue-redis/keys.ts'
import { subscribeSignal, MODEL_STATES } from '#libs/event-bus/scaling-signals.ts'
import { pino } from 'pino'
import { createRedis, type TestRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { startFakeCluster, type FakeCluster } from './fake-cluster.ts'
import { startFakeGateway, type FakeGateway } from './fake-gateway.ts'
import { poolOf, startScaler, type RunningScaler } from './scaler-under-test.ts'

// All tests share two scalers. If a test ends one of them, the next test starts another.

const NAME = 'takeover'

/** The time between two readings of a scaler's metrics. The scaler collects them anew for each reading. */
const LOOK_MS = 100

let redis: TestRedis
let client: Redis
let cluster: FakeCluster
let gateway: FakeGateway
let scalers: RunningScaler[] = []
let leader: RunningScaler
let follower: RunningScaler

beforeAll(async () => {
  redis = await createRedis()
  client = new Redis(redis.url)
  cluster = await startFakeCluster(redis.url)
  gateway = startFakeGateway(redis.url)
  cluster.addPool({ name: 'pool', model: 'model', replicas: 2 })
  await until(async () => cluster.workers('pool').length === 2)
  for (const worker of cluster.workers('pool')) worker.running = 9
})

beforeEach(async () => {
  scalers = scalers.filter((scaler) => !scaler.hasExited())
  const missing = Array.from({ length: 2 - scalers.length }, startOne)
  scalers.push(...(await Promise.all(missing)))
  await until(
    async () => {
      const leads = await Promise.all(scalers.map(async (scaler) => await scaler.isLeader()))
      const [first, second] = scalers
      if (first === undefined || second === undefined) throw new Error('there are two scalers')
      ;[leader, follower] = leads[0] === true ? [first, second] : [second, first]
      return leads.filter(Boolean).length === 1
    },
    30_000,
    LOOK_MS,
  )
  for (const { keda } of scalers) {
    await until(async () => (await keda.target('pool').catch(() => null)) === 2, 30_000, LOOK_MS)
  }
})

afterAll(async () => {
  leader.signal('SIGCONT')
  await Promise.all(scalers.map(async (scaler) => await scaler.end()))
  gateway.stop()
  await cluster.close()
  client.disconnect()
  await redis.stop()
})

const startOne = async () =>
  await startScaler({
    redisUrl: redis.url,
    apiUrl: cluster.url,
    name: NAME,
    pools: [poolOf('pool', { model: 'model' })],
  })

async function readTerm(): Promise<number> {
  const text = await client.hget(scalerKeys(NAME).snapshot, 'text')
  return z.object({ term: z.int() }).parse(JSON.parse(text ?? 'null')).term
}

/** Asks the follower repeatedly until it leads. Returns its answers until then. */
async function answersUntilTakeover(): Promise<Set<number | string | undefined>> {
  const answers = new Set<number | string | undefined>()
  const startedMs = performance.now()
  await until(
    async () => {
      answers.add(await follower.keda.target('pool').catch((error: { code: number }) => `code ${error.code}`))
      return await follower.isLeader()
    },
    60_000,
    LOOK_MS,
  )
  console.log(`taken over within ${Math.round(performance.now() - startedMs)} ms`)
  return answers
}

test('a leader that was frozen is replaced, and after the thaw writes nothing and follows', async () => {
  const terms: number[] = []
  const subscriber = new Redis(redis.url)
  await subscribeSignal({ subscriber, log: pino({ level: 'silent' }) }, MODEL_STATES, ({ term }) =>
    terms.push(term),
  )
  const frozen = await readTerm()
  leader.signal('SIGSTOP')
  await answersUntilTakeover()
  // A scaler leads for some moments before it has written its first snapshot.
  await until(async () => (await readTerm()) > frozen)
  const term = await readTerm()
  leader.signal('SIGCONT')
  await until(async () => !(await leader.isLeader()), 30_000, LOOK_MS)
  const sent = terms.length
  await until(async () => terms.length > sent + 3)
  subscriber.disconnect()
  expect(await readTerm()).toBe(term)
  // The frozen scaler's last message was sent before the freeze.
  expect(terms.slice(terms.indexOf(term))).toEqual(terms.slice(terms.indexOf(term)).map(() => term))
  expect(await leader.keda.target('pool')).toBe(2)
})

test('without the cluster both stop to answer and give the lead up, and come back with it', async () => {
  // The watches of the Kubernetes API are inputs too.
  cluster.api.failWith(503)
  cluster.api.endWatches('hard')
  await until(
    async () => {
      const answer = await follower.keda.target('pool').catch(({ code }) => `code ${code}`)
      return answer === `code ${status.UNAVAILABLE}`
    },
    90_000,
    LOOK_MS,
  )
  expect(await leader.isLeader()).toBe(false)
  cluster.api.failWith(null)
  await until(async () => (await follower.keda.target('pool').catch(() => null)) === 2, 60_000, LOOK_MS)
  expect(cluster.replicas('pool')).toBe(2)
}, 180_000)

test('when the leader is killed, the other one answers throughout, takes over, and remembers the target', async () => {
  const term = await readTerm()
  await leader.kill()
  expect([...(await answersUntilTakeover())]).toEqual([2])
  await until(async () => (await readTerm()) > term)
  expect(await follower.keda.target('pool')).toBe(2)
  await gateway.refuse('model')
  expect(cluster.deleted).toEqual([])
})

test('a leader that is to stop ends its streams cleanly and hands the lead over at once', async () => {
  const stream = leader.keda.watch('pool')
  await until(async () => stream.messages > 0)
  const lockMs = await client.pttl(scalerKeys(NAME).leader)
  expect(lockMs).toBeGreaterThan(0)
  const stopped = leader.stop()
  await until(async () => stream.code !== null)
  expect(stream.code).toBe(status.OK)
  expect([...(await answersUntilTakeover())]).toEqual([2])
  await stopped
})
