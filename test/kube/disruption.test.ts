import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/until.ts'
import { sumMetric } from './cluster-scaler.ts'
import { SLOTS } from './fake-workers.ts'
import { kubectl, runProgram } from './lab/cluster.ts'
import { killLabProcess } from './lab/restart-process.ts'
import { modelValues, poolName } from './release-values.ts'
import { openStage, type Stage } from './stage.ts'
import { isReady, poolOf, type WatchedPod } from './watch-cluster.ts'

const PODS = 4
/** This many pods use all GPUs. */
const FULL_PODS = 4
/** It takes 15 s on an idle machine. */
const CONVERGE_LIMIT_MS = 120_000
const STEADY = 'steady'
const FULL = 'full'
const SPOT = 'spotted'
let stage: Stage

beforeAll(async () => {
  const pod = { podAnnotations: { 'kube-lab/ready-after': '1s', 'kube-lab/exit-after': '2s' } }
  stage = await openStage({
    // So that a short queue does not raise the need beyond what runs.
    generationMs: 120_000,
    models: {
      [STEADY]: modelValues({ scale: { min: PODS, max: 20 }, pod }),
      [FULL]: modelValues({
        scale: { min: FULL_PODS - 1, max: FULL_PODS },
        gpu: { class: 'h100', count: 16 / FULL_PODS },
        pod: { podAnnotations: { ...pod.podAnnotations, 'kube-lab/ready-after': '6s' } },
      }),
      [SPOT]: modelValues({
        pod,
        pools: {
          base: { min: 1, max: 4 },
          spot: { min: 1, max: 4, order: 2, spot: true, noticeSeconds: 120 },
        },
      }),
    },
    values: { scaler: { gpuBudget: { h100: 16 } } },
  })
  await until(async () => stage.workers.ready(STEADY) === PODS, 180_000)
  stage.workers.setLoad(STEADY, PODS * SLOTS - 5)
  // The load is small, because a generation that moves from the queue to a worker is counted twice for a moment. The
  // need must not exceed the minimum then.
  stage.workers.setLoad(FULL, SLOTS + 2)
  await until(
    async () => stage.workers.ready(FULL) === FULL_PODS - 1 && stage.workers.ready(SPOT) === 2,
    180_000,
  )
})

afterAll(async () => await stage.close())

const isServing = (pod: WatchedPod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined
const servingOf = (pods: readonly WatchedPod[], pool: string) =>
  pods.filter((pod) => poolOf(pod) === pool && isServing(pod)).length

/** Watches, from now on, the smallest number of pods of a pool that are ready and not deleted. */
function watchFewest(pool: string): () => number {
  let fewest = servingOf(stage.watch.pods(), pool)
  stage.onPods((pods) => {
    fewest = Math.min(fewest, servingOf(pods, pool))
  })
  return () => fewest
}

test('a drained node loses its pods one after the other, and none in place of a released one', async () => {
  const pool = poolName(STEADY)
  const fewest = watchFewest(pool)
  const node = stage.watch.pods(pool)[0]?.spec.nodeName ?? ''
  const drain = ['drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout', '100s']
  try {
    await kubectl([...drain, '--pod-selector', `millrace/pool=${pool}`])
    await until(async () => servingOf(stage.watch.pods(), pool) >= PODS, CONVERGE_LIMIT_MS)
  } finally {
    await kubectl(['uncordon', node])
  }
  expect(stage.watch.pods(pool).filter(({ spec }) => spec.nodeName === node)).toEqual([])
  expect(fewest()).toBeGreaterThanOrEqual(PODS - 1)
  const metrics = await (await stage.leader()).metrics()
  expect(sumMetric(metrics, 'millrace_scaler_unplanned_removals_total')).toBe(0)
})

test('a roll-out on full GPUs replaces one pod after the other, also while the pool is scaled', async () => {
  const pool = poolName(FULL)
  const before = stage.watch.pods(pool).map(({ metadata }) => metadata.uid)
  const fewest = watchFewest(pool)
  await stage.upgrade({ models: { [FULL]: { engine: { args: ['--enable-prefix-caching'] } } } })
  // As soon as the first pod has gone, the pool asks for one more, which takes the last GPUs.
  await until(async () => servingOf(stage.watch.pods(), pool) < FULL_PODS - 1, CONVERGE_LIMIT_MS)
  stage.workers.setLoad(FULL, FULL_PODS * SLOTS)
  await until(async () => stage.watch.replicas(pool) === FULL_PODS, CONVERGE_LIMIT_MS)
  expect(stage.watch.pods(pool).some(({ metadata }) => before.includes(metadata.uid))).toBe(true)
  const status = ['rollout', 'status', `deployment/${pool}`, '--namespace', stage.namespace]
  await runProgram('kubectl', [...status, '--timeout', '110s'])
  await until(async () => servingOf(stage.watch.pods(), pool) === FULL_PODS, CONVERGE_LIMIT_MS)
  console.log(`never less than ${fewest()} of ${FULL_PODS - 1} pods served in the roll-out`)
  expect(stage.watch.pods(pool).filter(({ metadata }) => before.includes(metadata.uid))).toEqual([])
  expect(fewest()).toBeGreaterThanOrEqual(FULL_PODS - 2)
})

test('a spot pod that is to be taken away is replaced while it still exists', async () => {
  const pools = [`${poolName(SPOT)}-base`, `${poolName(SPOT)}-spot`]
  stage.workers.setLoad(SPOT, 2 * SLOTS)
  await until(async () => stage.workers.running(SPOT) === 2 * SLOTS, CONVERGE_LIMIT_MS)
  const total = () => pools.reduce((sum, pool) => sum + (stage.watch.replicas(pool) ?? 0), 0)
  const [pod] = stage.watch.pods(pools[1])
  expect(total()).toBe(2)
  const condition = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler', message: '' }
  const lastTransitionTime = new Date().toISOString()
  const startedMs = performance.now()
  const patch = JSON.stringify({ status: { conditions: [{ ...condition, lastTransitionTime }] } })
  const inNamespace = ['--namespace', stage.namespace]
  const name = pod?.metadata.name ?? ''
  await kubectl(['patch', 'pod', name, ...inNamespace, '--subresource', 'status', '--patch', patch])
  await until(async () => total() === 3, CONVERGE_LIMIT_MS)
  console.log(
    `a disrupted spot pod is replaced after ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`,
  )
  expect(stage.watch.pods(pools[1]).map(({ metadata }) => metadata.uid)).toContain(pod?.metadata.uid)
})

test.each([
  ["KEDA's operator", 'keda-operator', 3 * PODS],
  ["KEDA's metrics adapter", 'keda-adapter', 4 * PODS],
])('a rise in which %s is killed ends once it is back', async (name, program, pods) => {
  stage.workers.setLoad(STEADY, pods * SLOTS)
  const restart = await killLabProcess(program)
  const startedMs = performance.now()
  restart()
  await until(async () => stage.workers.ready(STEADY) >= pods, CONVERGE_LIMIT_MS)
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
  console.log(`converged ${seconds} s after ${name} was back`)
  expect(stage.watch.replicas(poolName(STEADY))).toBeGreaterThanOrEqual(pods)
})
