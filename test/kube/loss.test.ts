import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { sumMetric } from './cluster-scaler.ts'
import { SLOTS } from './fake-workers.ts'
import { repetitions } from './settings.ts'
import { modelValues, poolName } from './release-values.ts'
import { openStage, type Stage } from './stage.ts'
import type { Rescale } from './watch-cluster.ts'

// The loss of a part changes no number of replicas, neither of a model that serves nor of a model at zero.

const LOSS_MS = repetitions('KUBE_LOSS_SECONDS', 60) * 1_000
const DOWN_MS = repetitions('KUBE_DOWN_SECONDS', 120) * 1_000
/** It takes 15 s on an idle machine: a reader of the bus waits up to 10 s before its next attempt. */
const BACK_LIMIT_MS = 90_000
/** It takes 6 s on an idle machine. */
const TAKEOVER_LIMIT_MS = 40_000
const BUSY = 'busy'
const ASLEEP = 'asleep'
let stage: Stage

beforeAll(async () => {
  const scale = { idleSeconds: 10, max: 6 }
  stage = await openStage({
    models: { [BUSY]: modelValues({ scale }), [ASLEEP]: modelValues({ scale }) },
    scalers: 2,
  })
  stage.workers.setLoad(BUSY, 3 * SLOTS)
  await until(async () => stage.workers.running(BUSY) === 3 * SLOTS, 180_000)
  await until(async () => stage.watch.replicas(poolName(ASLEEP)) === 0, 240_000)
})

afterAll(async () => await stage.close())

const seconds = (ms: number) => (ms / 1_000).toFixed(1)
const replicas = () => [BUSY, ASLEEP].map((model) => stage.watch.replicas(poolName(model)))
const pass = async (ms: number) => {
  const endMs = performance.now() + ms
  await until(async () => performance.now() >= endMs, ms + 60_000)
}

/** Resolves with the time until every scaler has a fresh snapshot again and answers. */
async function untilFresh(): Promise<number> {
  const startedMs = performance.now()
  const isFresh = async (scaler: Stage['scalers'][number]) =>
    scaler.hasExited() || sumMetric(await scaler.metrics(), 'millrace_scaler_snapshot_age_seconds') < 3
  await until(async () => (await Promise.all(stage.scalers.map(isFresh))).every(Boolean), BACK_LIMIT_MS)
  return performance.now() - startedMs
}

/** Resolves with the time until a scaler other than this one leads. */
async function untilAnotherLeads(former: Stage['scalers'][number]): Promise<number> {
  const startedMs = performance.now()
  const others = stage.scalers.filter((scaler) => scaler !== former && !scaler.hasExited())
  const leads = async () =>
    (await Promise.all(others.map(async (scaler) => await scaler.isLeader()))).includes(true)
  await until(leads, TAKEOVER_LIMIT_MS)
  return performance.now() - startedMs
}

/** Runs `act` and returns the changes of replicas. Expects the same numbers of replicas afterwards as before. */
async function rescalesDuring(act: () => Promise<void>): Promise<readonly Rescale[]> {
  const before = stage.watch.rescales.length
  await act()
  expect(replicas()).toEqual([3, 0])
  return stage.watch.rescales.slice(before)
}

const LOSSES: readonly [string, (stage: Stage) => readonly TestRedis[]][] = [
  ['the queue Redis', ({ queue }) => [queue]],
  ['the bus', ({ bus }) => [bus]],
  ['both Redis', ({ queue, bus }) => [queue, bus]],
]

test.each(LOSSES)('the loss of %s changes nothing, and it is noticed', async (name, choose) => {
  const servers = choose(stage)
  const changes = await rescalesDuring(async () => {
    await Promise.all(servers.map(async (server) => await server.stop()))
    await pass(LOSS_MS)
    const ages = await Promise.all(
      stage.scalers.map(async (scaler) =>
        sumMetric(await scaler.metrics(), 'millrace_scaler_snapshot_age_seconds'),
      ),
    )
    expect(Math.min(...ages)).toBeGreaterThan(10)
    await Promise.all(servers.map(async (server) => await server.start()))
    const backMs = await untilFresh()
    console.log(
      `${name} away for ${seconds(LOSS_MS)} s: answers are fresh again ${seconds(backMs)} s after it`,
    )
    // In this time, the inputs of the snapshots become complete again too.
    await pass(5_000)
  })
  expect(changes).toEqual([])
})

test('a leader that is killed is replaced, and nothing changes', async () => {
  const leader = await stage.leader()
  const changes = await rescalesDuring(async () => {
    await leader.kill()
    console.log(`a killed leader is replaced after ${seconds(await untilAnotherLeads(leader))} s`)
    await stage.addScaler()
    await pass(10_000)
  })
  expect(changes).toEqual([])
})

test('a leader that is frozen is replaced, and once thawed neither leads nor changes anything', async () => {
  const frozen = await stage.leader()
  const changes = await rescalesDuring(async () => {
    frozen.signal('SIGSTOP')
    try {
      console.log(`a frozen leader is replaced after ${seconds(await untilAnotherLeads(frozen))} s`)
    } finally {
      frozen.signal('SIGCONT')
    }
    const leader = await untilLeader()
    for (let look = 0; look < 5; look += 1) {
      await pass(1_000)
      expect(await stage.leader()).toBe(leader)
      expect(await frozen.isLeader()).toBe(false)
    }
    await untilFresh()
  })
  expect(changes).toEqual([])
})

test('without any scaler nothing changes, whatever the load does', async () => {
  const changes = await rescalesDuring(async () => {
    await Promise.all(
      stage.scalers.filter((scaler) => !scaler.hasExited()).map(async (scaler) => await scaler.kill()),
    )
    stage.workers.setLoad(BUSY, 5 * SLOTS)
    await pass(DOWN_MS / 2)
    stage.workers.setLoad(BUSY, 1)
    await pass(DOWN_MS / 2)
    await stage.gateway.refuse(ASLEEP)
  })
  expect(changes).toEqual([])
  stage.workers.setLoad(BUSY, 4 * SLOTS)
  await stage.addScaler()
  const startedMs = performance.now()
  await until(async () => stage.watch.ready(poolName(BUSY)) === 4 && replicas()[1] === 1, 180_000)
  console.log(
    `without a scaler for ${seconds(DOWN_MS)} s: right ${seconds(performance.now() - startedMs)} s after one is back`,
  )
})

async function untilLeader() {
  await until(
    async () =>
      await stage.leader().then(
        () => true,
        () => false,
      ),
    TAKEOVER_LIMIT_MS,
  )
  return await stage.leader()
}
