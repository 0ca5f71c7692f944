import { expect, test } from 'vitest'
import { mergeValues, readValues, valuesPath } from './chart-values.ts'
import { renderValues } from './helm.ts'
import { toWorkloads } from './workloads.ts'

// Each process has the Redis login of its own part: a worker that of its model.

test('with a Secret of logins each process mounts its own, and the console may have another', async () => {
  const redis = { loginsSecret: 'logins' }
  const objects = await renderValues(mergeValues(readValues(valuesPath('production')), { redis }))
  const mounted = toWorkloads(objects).flatMap(({ object }) => {
    if (object.kind !== 'Deployment') return []
    const items = [...JSON.stringify(object).matchAll(/"key":"([^"]+)","path":"(?:queue|bus)-redis-url"/gu)]
    return [[object.metadata.name, items.map(([, key]) => key)]]
  })
  expect(Object.fromEntries(mounted)).toMatchObject({
    'mr-gateway': ['gateway-queue-url', 'gateway-bus-urls'],
    'mr-billing': ['billing-queue-url'],
    'mr-scaler': ['scaler-queue-url', 'scaler-bus-urls'],
    'mr-console': ['queue-url', 'bus-urls'],
    'mr-qwen3-32b': ['worker-qwen3-32b-queue-url', 'worker-qwen3-32b-bus-urls'],
    'mr-embed-small': ['worker-embed-small-queue-url', 'worker-embed-small-bus-urls'],
  })
})
