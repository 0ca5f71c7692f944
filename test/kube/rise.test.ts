import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/until.ts'
import { SLOTS } from './fake-workers.ts'
import { modelValues, poolName } from './release-values.ts'
import { openStage, type Stage } from './stage.ts'

/** It takes 10 s on an idle machine. */
const RISE_LIMIT_MS = 60_000
/** A worker loads for up to 4 s after its pod is ready: 20 s ± 10 % in total. */
const [READY_S, MOST_LOAD_S] = [18, 4]
let stage: Stage

beforeAll(async () => {
  const slow = { podAnnotations: { 'kube-lab/ready-after': `${READY_S}s` } }
  stage = await openStage({
    loadMs: (model) => (model === 'slow' ? Math.random() * MOST_LOAD_S * 1_000 : 0),
    // Generations are long: a queue of short ones would be empty within the target wait and need few more replicas.
    generationMs: 120_000,
    models: {
      quick: modelValues({ scale: { min: 1, max: 100 } }),
      slow: modelValues({ scale: { min: 0, max: 100, startSeconds: 100 }, pod: slow }),
      gpus: modelValues({ scale: { min: 1, max: 10 }, gpu: { class: 'h100', count: 8 } }),
    },
  })
  await until(async () => stage.workers.ready('quick') === 1, 120_000)
})

afterAll(async () => await stage.close())

/** Resolves with the number of pods when all of them use all of their slots. */
async function rise(from: number, to: number): Promise<number> {
  await until(async () => stage.workers.ready('quick') === from, RISE_LIMIT_MS)
  const startedMs = performance.now()
  stage.workers.setLoad('quick', to * SLOTS)
  await until(async () => stage.watch.pods(poolName('quick')).length >= to, RISE_LIMIT_MS)
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
  await until(async () => stage.workers.running('quick') === to * SLOTS, RISE_LIMIT_MS)
  console.log(`${from} to ${to} pods in ${seconds} s`)
  return stage.watch.pods(poolName('quick')).length
}

test('load raises a pool in one move, and not beyond what it needs while pods start', async () => {
  expect(await rise(1, 12)).toBe(12)
})

test('a rise by less than a tenth reaches Kubernetes as well', async () => {
  expect(await rise(12, 50)).toBe(50)
  expect(await rise(50, 54)).toBe(54)
})

test('after a few starts the time of the next ones is predicted', async () => {
  const errors = async () => {
    const metrics = await (await stage.leader()).metrics()
    const sample = (label: string) =>
      Number(
        new RegExp(
          `^millrace_scaler_eta_error_ratio_${label}[^}]*pool="${poolName('slow')}"} (\\d+)`,
          'm',
        ).exec(metrics)?.[1] ?? 0,
      )
    return { within: sample('bucket{le="0.2",'), all: sample('count{') }
  }
  stage.workers.setLoad('slow', 5 * SLOTS)
  await until(async () => stage.workers.ready('slow') === 5, 120_000)
  await until(async () => (await errors()).all >= 5)
  const before = await errors()
  stage.workers.setLoad('slow', 20 * SLOTS)
  await until(async () => stage.workers.ready('slow') === 20, 120_000)
  await until(async () => (await errors()).all >= 20)
  const after = await errors()
  const [within, all] = [after.within - before.within, after.all - before.all]
  console.log(
    `${within} of ${all} starts of ${READY_S} to ${READY_S + MOST_LOAD_S} s were predicted within 20 %`,
  )
  expect(within / all).toBeGreaterThanOrEqual(0.9)
})

test('pods for which there is no GPU go soon after the demand for them has gone', async () => {
  // Two nodes have 8 GPUs each.
  const pods = () => stage.watch.pods(poolName('gpus'))
  const unscheduled = () => pods().filter(({ spec }) => spec.nodeName === undefined)
  stage.workers.setLoad('gpus', 4 * SLOTS)
  await until(async () => stage.workers.ready('gpus') === 2 && unscheduled().length === 2, 120_000)
  stage.workers.setLoad('gpus', 2 * SLOTS)
  const startedMs = performance.now()
  await until(async () => unscheduled().length === 0, 120_000)
  console.log(
    `unscheduled pods are gone ${((performance.now() - startedMs) / 1_000).toFixed(1)} s after their demand`,
  )
  expect(pods()).toHaveLength(2)
  expect(stage.workers.deletions.filter(({ pool }) => pool === poolName('gpus'))).toEqual([])
})
