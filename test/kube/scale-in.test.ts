import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/until.ts'
import { sumMetric } from './cluster-scaler.ts'
import { SLOTS } from './fake-workers.ts'
import { quantile, repetitions } from './settings.ts'
import { modelValues, poolName } from './release-values.ts'
import { openStage, type Stage } from './stage.ts'

/** The pods of a model at the start; it gives back all but one. */
const PODS = 3
const SCALE_INS = repetitions('KUBE_SCALE_INS', 100)
const MODELS = Array.from({ length: Math.ceil(SCALE_INS / (PODS - 1)) }, (_, index) => `model-${index}`)
/** The models whose load returns while a worker is cordoned. */
const RETURNING = MODELS.slice(0, Math.ceil(SCALE_INS / 5))
const IDLE_S = 10
/** Much longer than a pod needs from its release to its end, so that the removal of a busy worker would be noticed. */
const GENERATION_MS = 20_000
/** A step takes 60 s, on a busy machine twice as long. */
const STEPS_LIMIT_MS = PODS * 120_000
/** On an idle machine, a worker serves again within 2 s. */
const RETURN_LIMIT_MS = 10_000
let stage: Stage

beforeAll(async () => {
  const values = modelValues({ scale: { idleSeconds: IDLE_S, max: PODS } })
  stage = await openStage({
    models: Object.fromEntries(MODELS.map((model) => [model, values])),
    generationMs: GENERATION_MS,
  })
})

afterAll(async () => await stage.close())

const each = (models: readonly string[], holds: (model: string) => boolean) => async () => models.every(holds)
const replicas = (model: string) => stage.watch.replicas(poolName(model))
const setLoads = (models: readonly string[], generations: number) => {
  for (const model of models) stage.workers.setLoad(model, generations)
}
const busyDeletions = () =>
  stage.workers.deletions.filter(({ running, reported }) => running > 0 || (reported ?? 0) > 0)
const removals = async () =>
  sumMetric(await (await stage.leader()).metrics(), 'millrace_scaler_unplanned_removals_total')

test('load makes pods, and they serve it', async () => {
  setLoads(MODELS, PODS * SLOTS)
  await until(
    each(MODELS, (model) => stage.workers.running(model) === PODS * SLOTS),
    180_000,
  )
  expect(stage.watch.pods()).toHaveLength(MODELS.length * PODS)
})

test('load that returns while a worker is cordoned is served by it, and no pod is created or deleted', async () => {
  const uids = () => stage.watch.pods().map(({ metadata }) => metadata.uid)
  const before = uids().toSorted()
  const times: number[] = []
  // Two pods are enough for this load.
  setLoads(RETURNING, 2 * SLOTS - 2)
  await Promise.all(
    RETURNING.map(async (model) => {
      await until(async () => stage.workers.cordoned(model) > 0, STEPS_LIMIT_MS)
      const startedMs = performance.now()
      stage.workers.setLoad(model, PODS * SLOTS)
      await until(async () => stage.workers.ready(model) === PODS, STEPS_LIMIT_MS)
      times.push(performance.now() - startedMs)
    }),
  )
  const longest = Math.round(Math.max(...times))
  console.log(
    `${times.length} cordons ended: p95 ${Math.round(quantile(times, 0.95))} ms, longest ${longest} ms`,
  )
  expect(longest).toBeLessThanOrEqual(RETURN_LIMIT_MS)
  expect(uids().toSorted()).toEqual(before)
  expect(stage.workers.deletions).toEqual([])
})

test('scale-ins under load delete only pods that run nothing', async () => {
  setLoads(MODELS, SLOTS - 2)
  await until(
    each(MODELS, (model) => replicas(model) === 1),
    STEPS_LIMIT_MS,
  )
  await until(async () => stage.workers.deletions.length >= MODELS.length * (PODS - 1))
  const { deletions } = stage.workers
  const unplanned = await removals()
  console.log(
    `${deletions.length} scale-ins: ${busyDeletions().length} busy pods, ${unplanned} unplanned removals`,
  )
  expect(deletions).toHaveLength(MODELS.length * (PODS - 1))
  expect(busyDeletions()).toEqual([])
  expect(unplanned).toBe(0)
  expect(MODELS.map((model) => stage.workers.running(model))).toEqual(MODELS.map(() => SLOTS - 2))
})

test('without load every model goes to zero, from one pod, which is idle', async () => {
  // The load of several pods ends at once, as at the end of a day.
  const [first = ''] = MODELS
  stage.workers.setLoad(first, PODS * SLOTS)
  await until(async () => stage.workers.ready(first) === PODS, 180_000)
  const startedMs = performance.now()
  setLoads(MODELS, 0)
  await until(
    each(MODELS, (model) => replicas(model) === 0),
    STEPS_LIMIT_MS + IDLE_S * 1_000 + 2 * GENERATION_MS,
  )
  const seconds = (performance.now() - startedMs) / 1_000
  const ownS = IDLE_S + (1.5 * GENERATION_MS) / 1_000
  console.log(
    `${MODELS.length} models at zero after ${seconds.toFixed(1)} s, up to ${ownS} s of them at work or idle`,
  )
  const steps = stage.watch.rescales.filter(({ to }) => to === 0)
  expect(new Set(steps.map(({ from }) => from))).toEqual(new Set([1]))
  expect(busyDeletions()).toEqual([])
  expect(await removals()).toBe(0)
})
