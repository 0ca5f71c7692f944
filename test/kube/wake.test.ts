import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/until.ts'
import { quantile, repetitions } from './settings.ts'
import { modelValues, openStage, poolName, type Stage } from './stage.ts'

// Each model is woken once, because it takes minutes until it is at zero again.
const MODELS = Array.from({ length: repetitions('KUBE_WAKES', 50) }, (_, index) => `model-${index}`)
/** On an idle machine 95 % take at most 1 s. A poll of KEDA, every 5 s, would take longer than this. */
const LIMIT_MS = 5_000
let stage: Stage

beforeAll(async () => {
  const values = modelValues({ scale: { idleSeconds: 10 } })
  stage = await openStage({ models: Object.fromEntries(MODELS.map((model) => [model, values])) })
  // A Deployment that names no replicas starts with one, which goes as any idle one does.
  await until(async () => MODELS.every((model) => stage.watch.replicas(poolName(model)) === 0), 240_000)
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
  console.log(`0 to 1 in ${times.length} models: p50 ${p50} ms, p95 ${p95} ms, max ${max} ms`)
  expect(p95).toBeLessThanOrEqual(LIMIT_MS)
})
