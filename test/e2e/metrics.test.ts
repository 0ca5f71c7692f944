import { afterAll, beforeAll, expect, test } from 'vitest'
import { FOREIGN_METRICS } from '#test/observability/foreign-metrics.ts'
import { usedMetrics } from '#test/observability/known-metrics.ts'
import { toMetric } from '#test/observability/metric-names.ts'
import { startFakeCluster, type FakeCluster } from '../integration/scaler/fake-cluster.ts'
import { poolOf, startScaler, type RunningScaler } from '../integration/scaler/scaler-under-test.ts'
import { chatOk } from '../support/chat.ts'
import { startCluster, type TestCluster } from '../support/cluster.ts'
import { startApp, type RunningApp } from '../support/processes.ts'
import { until } from '../support/until.ts'

let cluster: TestCluster
let kubernetes: FakeCluster
let scaler: RunningScaler
let console_: RunningApp

beforeAll(async () => {
  cluster = await startCluster({})
  kubernetes = await startFakeCluster(cluster.redis.url)
  const pools = [poolOf('demo-chat')]
  scaler = await startScaler({ redisUrl: cluster.redis.url, apiUrl: kubernetes.url, name: 'metrics', pools })
  console_ = await startApp('console', {
    PORT: '0',
    BILLING_ADMIN_URL: cluster.adminUrl,
    QUEUE_REDIS_URL: cluster.redis.url,
    BUS_REDIS_URL: cluster.redis.url,
  })
  const account = await cluster.createAccount('10')
  await chatOk({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, content: 'Hello' })
})

afterAll(async () => {
  await console_.stop()
  await scaler.end()
  await kubernetes.close()
  await cluster.stop()
})

/** The names in the texts of /metrics. */
async function exportedMetrics(urls: readonly string[]): Promise<ReadonlySet<string>> {
  const texts = await Promise.all(urls.map(async (url) => await (await fetch(`${url}/metrics`)).text()))
  return new Set(
    texts.flatMap((text) => Array.from(text.matchAll(/^# TYPE (\w+) /gm), ([, name = '']) => name)),
  )
}

test('every metric of the alerts and dashboards is exported by a running cluster, or is foreign', async () => {
  const apps = [cluster.billing, scaler, console_, ...cluster.workers, ...cluster.gateways]
  const exported = await exportedMetrics(apps.map(({ opsUrl }) => opsUrl))
  const used = [...usedMetrics()].filter((name) => !(name in FOREIGN_METRICS))
  expect(used.length).toBeGreaterThan(40)
  expect(used.filter((name) => !exported.has(name) && !exported.has(toMetric(name)))).toEqual([])
})

test('a chat adds to the tokens of its worker and to the credits of its model', async () => {
  const read = async (url = '') => await (await fetch(`${url}/metrics`)).text()
  await until(async () =>
    /^millrace_billing_charged_credits_total\{model="demo-chat"\} \S*[1-9]/m.test(
      await read(cluster.billing.opsUrl),
    ),
  )
  const worker = await read(cluster.workers[0]?.opsUrl)
  expect(worker).toMatch(/^millrace_worker_tokens_total\{model="demo-chat",kind="prompt"\} [1-9]/m)
  expect(worker).toMatch(/^millrace_worker_tokens_total\{model="demo-chat",kind="output"\} [1-9]/m)
})
