import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFakeCluster } from '../integration/scaler/fake-cluster.ts'
import { poolOf, startScaler } from '../integration/scaler/scaler-under-test.ts'
import { embedOk } from '../support/embeddings.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'
import { startChatOk } from '../support/start-chat.ts'
import { startOtlpCollector, type CollectedSpan, type OtlpCollector } from '../support/otlp-collector.ts'
import { until } from '../support/until.ts'

const PROMPT = 'the quick brown secret'
/** Two workers serve this model, and an answer takes seconds. */
const SLOW = { model: 'demo-reasoning', files: 'demo-reasoning', stepMs: 30 }

const QUICK = { model: 'demo-chat', files: 'demo', stepMs: 1 }
const EMBEDDING = { model: 'demo-embed', files: 'demo', kind: 'embedding' } as const

let collector: OtlpCollector
let cluster: TestCluster
let account: TestAccount

beforeAll(async () => {
  collector = await startOtlpCollector()
  const tracing = { OTLP_ENDPOINT: collector.url, TRACE_RATIO: '1' }
  cluster = await startCluster({
    workers: [
      [SLOW, QUICK, EMBEDDING],
      [SLOW, QUICK],
    ],
    gatewayEnv: tracing,
    workerEnv: tracing,
    billingEnv: tracing,
  })
  account = await cluster.createAccount('10')
})

afterAll(async () => {
  await cluster.stop()
  await collector.stop()
})

/** Returns the spans of the trace whose first span is linked to this client's trace. */
function traceOf(clientTrace: string): CollectedSpan[] {
  const server = collector.spans.find(({ links }) => links.includes(clientTrace))
  return collector.spans.filter(({ traceId }) => traceId === server?.traceId)
}

async function chatAs(clientTrace: string): Promise<Response> {
  return await fetch(`${cluster.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${account.apiKey}`,
      'content-type': 'application/json',
      traceparent: `00-${clientTrace}-${'b'.repeat(16)}-01`,
    },
    body: JSON.stringify({
      model: 'demo-chat',
      messages: [{ role: 'user', content: PROMPT }],
      max_tokens: 8,
    }),
  })
}

test('one trace follows a chat through gateway, worker and billing, and has none of its text', async () => {
  const clientTrace = randomBytes(16).toString('hex')
  const response = await chatAs(clientTrace)
  expect(response.status).toBe(200)
  await response.text()
  await until(async () => traceOf(clientTrace).length === 8, 60_000)

  const spans = traceOf(clientTrace)
  const nameOf = (id: string) => spans.find(({ spanId }) => spanId === id)?.name ?? null
  const seen = spans.map(({ service, kind, name, parentSpanId, isError }) => {
    expect(isError).toBe(false)
    return `${service} ${kind} ${name} < ${nameOf(parentSpanId)}`
  })
  expect(seen.toSorted()).toEqual([
    'millrace-billing CONSUMER settle < send demo-chat',
    'millrace-gateway CLIENT reserve < POST /v1/chat/completions',
    'millrace-gateway INTERNAL admit < POST /v1/chat/completions',
    'millrace-gateway PRODUCER send demo-chat < POST /v1/chat/completions',
    'millrace-gateway SERVER POST /v1/chat/completions < null',
    'millrace-worker CLIENT chat demo-chat < process demo-chat',
    'millrace-worker CONSUMER process demo-chat < send demo-chat',
    'millrace-worker INTERNAL render < process demo-chat',
  ])
  expect(spans.find(({ name }) => name === 'chat demo-chat')?.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'demo-chat',
    'gen_ai.usage.output_tokens': '8',
  })
  expect(spans.find(({ name }) => name === 'process demo-chat')?.events).toEqual(['first-token'])
  expect(spans.find(({ name }) => name === 'settle')?.attributes).toMatchObject({
    'millrace.outcome': 'completed',
    'millrace.result': 'charged',
  })
  expect(collector.bodies.join('')).not.toContain(PROMPT)
})

test('an embedding is traced as well', async () => {
  await embedOk({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, input: PROMPT })
  const calls = () => collector.spans.filter(({ name }) => name === 'embeddings demo-embed')
  await until(async () => calls().length === 1, 60_000)
  expect(calls()[0]).toMatchObject({ kind: 'CLIENT', service: 'millrace-worker' })
})

test('the second run of a generation that was handed over is linked to the first', async () => {
  const call = { baseUrl: cluster.baseUrl, apiKey: account.apiKey, model: 'demo-reasoning' }
  const { firstText, answer } = startChatOk({ ...call, content: 'Talk [[tokens=300]]' })
  await firstText
  const runs = () => collector.spans.filter(({ name }) => name === 'process demo-reasoning')
  const running = await Promise.all(
    cluster.workers.map(
      async (worker) => await cluster.metric(worker, 'millrace_worker_running', { model: 'demo-reasoning' }),
    ),
  )
  const first = cluster.workers[running.indexOf(1)]
  expect((await fetch(`${first?.opsUrl}/drain`, { method: 'POST' })).status).toBe(202)
  await answer
  await until(async () => runs().length === 2, 60_000)

  const [one, two] = runs().toSorted((a, b) =>
    (a.attributes['millrace.epoch'] ?? '').localeCompare(b.attributes['millrace.epoch'] ?? ''),
  )
  expect(one).toMatchObject({ attributes: { 'millrace.epoch': '1' }, linkedSpans: [] })
  expect(one?.events).toContain('handed-back')
  expect(two).toMatchObject({
    attributes: { 'millrace.epoch': '2' },
    traceId: one?.traceId,
    parentSpanId: one?.parentSpanId,
    linkedSpans: [one?.spanId],
  })
})

test('a round of the leading scaler is traced, with what it decided and did', async () => {
  const kubernetes = await startFakeCluster(cluster.redis.url)
  const scaler = await startScaler({
    redisUrl: cluster.redis.url,
    apiUrl: kubernetes.url,
    name: 'traces',
    pools: [poolOf('demo-chat')],
    env: { OTLP_ENDPOINT: collector.url, TRACE_RATIO: '1' },
  })
  const roundWith = (child: string) => {
    const step = collector.spans.find(({ service, name }) => service === 'millrace-scaler' && name === child)
    return collector.spans.find(({ spanId }) => spanId === step?.parentSpanId)
  }
  await until(async () => roundWith('decide') !== undefined && roundWith('act') !== undefined, 60_000)
  expect(roundWith('decide')).toMatchObject({ name: 'round', parentSpanId: '', isError: false })
  expect(roundWith('act')).toMatchObject({
    name: 'round',
    attributes: { 'millrace.scaler.term': expect.stringMatching(/^\d+$/) },
  })
  expect(collector.spans.find(({ name }) => name === 'act')?.attributes).toEqual({
    'millrace.scaler.cordons': '0',
    'millrace.scaler.uncordons': '0',
    'millrace.scaler.releases': '0',
  })
  await scaler.end()
  await kubernetes.close()
})

test('a refused request is a failed span, and its line in the log has the trace’s id', async () => {
  await cluster.billing.kill()
  const clientTrace = randomBytes(16).toString('hex')
  expect((await chatAs(clientTrace)).status).toBe(503)
  await until(async () => traceOf(clientTrace).some(({ kind }) => kind === 'SERVER'), 60_000)

  const server = traceOf(clientTrace).find(({ kind }) => kind === 'SERVER')
  expect(server).toMatchObject({
    isError: true,
    attributes: { 'error.type': 'model_unavailable', 'http.response.status_code': '503' },
  })
  expect(cluster.gateways[0]?.logs()).toContain(`"traceId":"${server?.traceId}"`)
  await cluster.restartBilling()
})
