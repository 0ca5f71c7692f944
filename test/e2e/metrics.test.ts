import { afterAll, beforeAll, expect, test } from 'vitest'
import { FOREIGN_METRICS } from '#test/observability/foreign-metrics.ts'
import { usedMetrics } from '#test/observability/known-metrics.ts'
import { toMetric } from '#test/observability/metric-names.ts'
import { startFakeCluster, type FakeCluster } from '../integration/scaler/fake-cluster.ts'
import { poolOf, startScaler, type RunningScaler } from '../integration/scaler/scaler-under-test.ts'
import { chatOk } from '../support/chat.ts'
import { startApp, type RunningApp } from '../support/processes.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { FILE_MODELS } from '../support/shared-models.ts'

const { model } = FILE_MODELS.metrics.engine

let cluster: SharedCluster
let kubernetes: FakeCluster
let scaler: RunningScaler
let console_: RunningApp

beforeAll(async () => {
  cluster = await sharedCluster()
  kubernetes = await startFakeCluster(cluster.redisUrl)
  // No worker of the cluster is in the pool, so the scaler cordons none.
  const pools = [poolOf('metrics-pool')]
  scaler = await startScaler({ redisUrl: cluster.redisUrl, apiUrl: kubernetes.url, name: 'metrics', pools })
  console_ = await startApp('console', {
    PORT: '0',
    BILLING_ADMIN_URL: cluster.adminUrl,
    QUEUE_REDIS_URL: cluster.redisUrl,
    BUS_REDIS_URL: cluster.redisUrl,
  })
  const account = await cluster.createAccount('10')
  await chatOk({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, model, content: 'Hello' })
})

afterAll(async () => {
  await console_.stop()
  await scaler.end()
  await kubernetes.close()
})

/** Returns the names of the metrics at these /metrics URLs. */
async function exportedMetrics(urls: readonly string[]): Promise<ReadonlySet<string>> {
  const texts = await Promise.all(urls.map(async (url) => await (await fetch(`${url}/metrics`)).text()))
  return new Set(
    texts.flatMap((text) => Array.from(text.matchAll(/^# TYPE (\w+) /gm), ([, name = '']) => name)),
  )
}

test('every metric of the alerts and dashboards is exported by a running cluster, or is foreign', async () => {
  const apps = [cluster.billing, scaler, console_, cluster.worker, ...cluster.gateways]
  const exported = await exportedMetrics(apps.map(({ opsUrl }) => opsUrl))
  const used = [...usedMetrics()].filter((name) => !(name in FOREIGN_METRICS))
  expect(used.length).toBeGreaterThan(40)
  expect(used.filter((name) => !exported.has(name) && !exported.has(toMetric(name)))).toEqual([])
})

test('a chat adds to the tokens of its worker and to the credits of its model', async () => {
  await expect
    .poll(() => cluster.metric(cluster.billing, 'millrace_billing_charged_credits_total', { model }))
    .toBeGreaterThan(0)
  for (const kind of ['prompt', 'output']) {
    const tokens = await cluster.metric(cluster.worker, 'millrace_worker_tokens_total', { model, kind })
    expect(tokens).toBeGreaterThan(0)
  }
})
