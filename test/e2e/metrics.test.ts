import { expect } from 'vitest'
import { FOREIGN_METRICS } from '#test/observability/foreign-metrics.ts'
import { usedMetrics } from '#test/observability/known-metrics.ts'
import { toMetric } from '#test/observability/metric-names.ts'
import { startFakeCluster } from '../integration/scaler/fake-cluster.ts'
import { poolOf, startScaler } from '../integration/scaler/scaler-under-test.ts'
import { chatOk } from '../support/chat.ts'
import { test as clusterTest } from '../support/cluster-test.ts'
import { startApp } from '../support/processes.ts'
import { FILE_MODELS } from '../support/shared-models.ts'

const { model } = FILE_MODELS.metrics.engine

const test = clusterTest
  .extend('scaler', { scope: 'file' }, async ({ cluster: { redisUrl } }, { onCleanup }) => {
    const kubernetes = await startFakeCluster(redisUrl)
    // No worker of the cluster is in the pool, so the scaler cordons none.
    const pools = [poolOf('metrics-pool')]
    const scaler = await startScaler({ redisUrl, apiUrl: kubernetes.url, name: 'metrics', pools })
    onCleanup(async () => {
      await scaler.end()
      await kubernetes.close()
    })
    return scaler
  })
  .extend('console', { scope: 'file' }, async ({ cluster }, { onCleanup }) => {
    const app = await startApp('console', {
      PORT: '0',
      BILLING_ADMIN_URL: cluster.adminUrl,
      QUEUE_REDIS_URL: cluster.redisUrl,
      BUS_REDIS_URL: cluster.redisUrl,
    })
    onCleanup(app.stop)
    return app
  })

test.beforeAll(async ({ endpoint }) => {
  await chatOk({ ...endpoint, model, content: 'Hello' })
})

/** Returns the names of the metrics at these /metrics URLs. */
async function exportedMetrics(urls: readonly string[]): Promise<ReadonlySet<string>> {
  const texts = await Promise.all(urls.map(async (url) => await (await fetch(`${url}/metrics`)).text()))
  return new Set(
    texts.flatMap((text) => Array.from(text.matchAll(/^# TYPE (\w+) /gm), ([, name = '']) => name)),
  )
}

test('every metric of the alerts and dashboards is exported by a running cluster, or is foreign', async ({
  cluster,
  scaler,
  console,
}) => {
  const apps = [cluster.billing, scaler, console, cluster.worker, ...cluster.gateways]
  const exported = await exportedMetrics(apps.map(({ opsUrl }) => opsUrl))
  const used = [...usedMetrics()].filter((name) => !(name in FOREIGN_METRICS))
  expect(used.length).toBeGreaterThan(40)
  expect(used.filter((name) => !exported.has(name) && !exported.has(toMetric(name)))).toEqual([])
})

test('a chat adds to the tokens of its worker and to the credits of its model', async ({ cluster }) => {
  await expect
    .poll(() => cluster.metric(cluster.billing, 'millrace_billing_charged_credits_total', { model }))
    .toBeGreaterThan(0)
  for (const kind of ['prompt', 'output']) {
    const tokens = await cluster.metric(cluster.worker, 'millrace_worker_tokens_total', { model, kind })
    expect(tokens).toBeGreaterThan(0)
  }
})
