import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/until.ts'
import { sumMetric } from './cluster-scaler.ts'
import { SLOTS } from './fake-workers.ts'
import { kubectl } from './lab/cluster.ts'
import { repetitions } from './settings.ts'
import { modelValues, poolName } from './release-values.ts'
import { openStage, type Stage } from './stage.ts'
import { poolOf } from './watch-cluster.ts'

const BUDGET = 16
/** One node has all GPUs, because a budget is only a number: it does not know which GPUs a node has. */
const NODE = 'budget'
const DEMANDS = repetitions('KUBE_DEMANDS', 500)
/**
 * The longest pause between two demands: some demands come before the pods have followed the previous one, some after.
 */
const LONGEST_PAUSE_MS = 2_000
const MODELS = [
  { model: 'large', gpus: 4, priority: 90, max: 4 },
  { model: 'medium', gpus: 2, priority: 50, max: 8 },
  { model: 'small', gpus: 1, priority: 10, max: 16 },
] as const
let stage: Stage
let peak = 0

beforeAll(async () => {
  await addNode()
  const models = MODELS.map(({ model, gpus, priority, max }) => {
    const fields = { gpu: { class: 'h100', count: gpus }, scale: { min: 1, max, priority } }
    // A pod needs some time to end, and keeps its GPUs until then.
    const pod = { podAnnotations: { 'kube-lab/ready-after': '1s', 'kube-lab/exit-after': '2s' } }
    return [model, modelValues({ ...fields, pod })] as const
  })
  stage = await openStage({
    // Longer than a pod needs from its release to its end, so that the removal of a busy pod would be noticed.
    generationMs: 8_000,
    models: Object.fromEntries(models),
    values: {
      scaler: { gpuBudget: { h100: BUDGET } },
      gpuClasses: { h100: { nodeSelector: { 'kubernetes.io/hostname': NODE } } },
    },
  })
  stage.onPods((pods) => {
    const gpusOf = (pool: string) => MODELS.find(({ model }) => poolName(model) === pool)?.gpus ?? 0
    peak = Math.max(
      peak,
      pods.reduce((sum, pod) => sum + gpusOf(poolOf(pod)), 0),
    )
  })
  await until(async () => MODELS.every(({ model }) => stage.workers.ready(model) >= 1), 120_000)
})

afterAll(async () => {
  await stage.close()
  await kubectl(['delete', 'node', NODE])
})

test('GPUs that a lower priority holds go to a higher one, which then has all that it asks for', async () => {
  stage.workers.setLoad('small', 9 * SLOTS)
  await until(async () => stage.workers.ready('small') >= 9, 240_000)
  const startedMs = performance.now()
  // The load needs 3 × 4 of 16 GPUs. The minima of the other models need 2 + 1.
  stage.workers.setLoad('large', 3 * SLOTS)
  await until(async () => stage.workers.ready('large') === 3, 240_000)
  console.log(`GPUs changed hands within ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`)
  expect(peak).toBeLessThanOrEqual(BUDGET)
  expect(stage.workers.deletions.filter(({ running }) => running > 0)).toEqual([])
})

test('random demands never take more GPUs than the budget has, keep every minimum, and delete no busy pod', async () => {
  for (let demand = 0; demand < DEMANDS; demand += 1) {
    for (const { model, max } of MODELS) {
      stage.workers.setLoad(model, Math.floor(Math.random() ** 2 * (max + 1) * SLOTS))
    }
    const endMs = performance.now() + Math.random() * LONGEST_PAUSE_MS
    await until(async () => performance.now() >= endMs)
  }
  const { deletions } = stage.workers
  const busy = deletions.filter(({ running, reported }) => running > 0 || (reported ?? 0) > 0)
  const unplanned = sumMetric(
    await (await stage.leader()).metrics(),
    'millrace_scaler_unplanned_removals_total',
  )
  const { rescales } = stage.watch
  console.log(
    `${DEMANDS} demands: ${rescales.length} changes of replicas, at most ${peak} of ${BUDGET} GPUs, ` +
      `${deletions.length} pods deleted, ${busy.length} of them busy, ${unplanned} unplanned`,
  )
  expect(rescales.length).toBeGreaterThan(0)
  expect(peak).toBeLessThanOrEqual(BUDGET)
  expect(rescales.filter(({ to }) => to < 1)).toEqual([])
  expect(busy).toEqual([])
  expect(unplanned).toBe(0)
})

async function addNode(): Promise<void> {
  const size = { cpu: '64', memory: '256Gi', pods: '250', 'nvidia.com/gpu': String(BUDGET) }
  const metadata = {
    name: NODE,
    labels: { 'kubernetes.io/hostname': NODE, 'kubernetes.io/os': 'linux' },
    annotations: { 'kwok.x-k8s.io/node': 'fake' },
  }
  const spec = { taints: [{ key: 'nvidia.com/gpu', value: 'present', effect: 'NoSchedule' }] }
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata,
    spec,
    status: { capacity: size, allocatable: size },
  }
  await kubectl(['create', '-f', '-'], JSON.stringify(node))
}
