import { loadavg } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sumMetric } from '../support/cluster.ts'
import { until } from '../support/until.ts'
import { quantile, repetitions } from './settings.ts'
import { modelValues, poolName } from './release-values.ts'
import { openStage, type Stage } from './stage.ts'

// Each model is woken once, because it takes minutes until it is at zero again.
const MODELS = Array.from({ length: repetitions('KUBE_WAKES', 50) }, (_, index) => `model-${index}`)
/**
 * By itself KEDA asks every 5 s. Without its stream, most wake-ups would take longer than the first of these limits.
 */
const [P95_LIMIT_MS, MOST_MS] = [1_000, 2_000]
/** Models that are woken while KEDA has no stream. */
const UNPUSHED = Array.from({ length: Math.ceil(MODELS.length / 10) }, (_, index) => `unpushed-${index}`)
/** It takes 6 s on an idle machine: KEDA polls every 5 s. */
const POLLED_LIMIT_MS = 30_000
/** The stream is broken this often: KEDA then waits 2, 4, 8 and 16 s before it opens a stream again. */
const BREAKS = 4
let stage: Stage

beforeAll(async () => {
  const values = modelValues({ scale: { idleSeconds: 10 } })
  const models = [...MODELS, ...UNPUSHED]
  stage = await openStage({ models: Object.fromEntries(models.map((model) => [model, values])) })
  // A Deployment without `replicas` starts with one replica, which is removed like any idle one.
  await until(async () => models.every((model) => stage.watch.replicas(poolName(model)) === 0), 240_000)
})

afterAll(async () => await stage.close())

test('a request that is refused for want of a worker starts one at once, and only of its model', async () => {
  const times: number[] = []
  for (const [index, model] of MODELS.entries()) {
    const startedMs = performance.now()
    await stage.gateway.refuse(model)
    await until(async () => stage.watch.replicas(poolName(model)) === 1)
    times.push(performance.now() - startedMs)
    const asleep = MODELS.slice(index + 1).filter((other) => stage.watch.replicas(poolName(other)) !== 0)
    expect(asleep).toEqual([])
  }
  const [p50, p95, max] = [quantile(times, 0.5), quantile(times, 0.95), Math.max(...times)].map(Math.round)
  const load = loadavg()[0]?.toFixed(1)
  console.log(
    `0 to 1 in ${times.length} models: p50 ${p50} ms, p95 ${p95} ms, max ${max} ms; the machine's load ${load}`,
  )
  expect(p95).toBeLessThanOrEqual(P95_LIMIT_MS)
  expect(max).toBeLessThanOrEqual(MOST_MS)
})

test("while KEDA's streams are broken its polls wake a model", async () => {
  const [scaler] = stage.scalers
  const opened = async () =>
    sumMetric((await scaler?.metrics()) ?? '', 'millrace_scaler_keda_calls_total', { call: 'StreamIsActive' })
  for (let round = 1; round < BREAKS; round += 1) {
    const before = await opened()
    stage.keda.breakConnections()
    await until(async () => (await opened()) >= before + MODELS.length + UNPUSHED.length, 60_000)
  }
  stage.keda.breakConnections()
  const brokenMs = performance.now()
  const before = await opened()
  const times = await Promise.all(
    UNPUSHED.map(async (model) => {
      await stage.gateway.refuse(model)
      await until(async () => stage.watch.replicas(poolName(model)) === 1, POLLED_LIMIT_MS)
      return Math.round(performance.now() - brokenMs)
    }),
  )
  expect(await opened()).toBe(before)
  console.log(`0 to 1 by polls alone: ${times.join(', ')} ms`)
})
