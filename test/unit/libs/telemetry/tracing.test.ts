import { afterEach, expect, test, vi } from 'vitest'
import { createLogger } from '#libs/telemetry/logger.ts'
import { NO_SPAN, traceStep } from '#libs/telemetry/span.ts'
import { createTracing, NO_TRACING, type Tracing } from '#libs/telemetry/tracing.ts'
import { startOtlpCollector, type OtlpCollector } from '#test/support/otlp-collector.ts'

const LINKED = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
const stops: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

async function setup(ratio = 1): Promise<{ collector: OtlpCollector; tracing: Tracing }> {
  const collector = await startOtlpCollector()
  stops.push(collector.stop)
  return { collector, tracing: await tracingTo(collector.url, ratio) }
}

async function tracingTo(
  endpoint: string | undefined,
  ratio = 1,
  log = createLogger('test', 'silent'),
): Promise<Tracing> {
  return await createTracing({ app: 'gateway', instance: 'g-1', endpoint, ratio, log })
}

test('spans of a request arrive with their kind, parent, attributes, events and links', async () => {
  const { collector, tracing } = await setup()
  const server = tracing.start('POST /v1/embeddings', {
    kind: 'SERVER',
    links: [LINKED, 'nonsense', undefined],
  })
  const step = server.child('admit', { attributes: { 'gen_ai.request.model': 'm' } })
  step.event('first-token')
  step.fail('model_busy')
  step.end()
  server.set({ 'http.response.status_code': 429 })
  server.end()
  await tracing.close()

  const [admit, post] = collector.spans
  expect(post).toMatchObject({
    service: 'millrace-gateway',
    name: 'POST /v1/embeddings',
    kind: 'SERVER',
    traceId: server.traceId,
    parentSpanId: '',
    links: ['a'.repeat(32)],
    attributes: { 'http.response.status_code': '429' },
    isError: false,
  })
  expect(admit).toMatchObject({
    kind: 'INTERNAL',
    traceId: server.traceId,
    parentSpanId: post?.spanId,
    attributes: { 'gen_ai.request.model': 'm', 'error.type': 'model_busy' },
    events: ['first-token'],
    isError: true,
  })
})

test('another process continues the trace by its text, whatever its own ratio', async () => {
  const { collector, tracing } = await setup()
  const sending = tracing.start('send m', { kind: 'PRODUCER' })
  sending.end()
  await tracing.close()
  const worker = await tracingTo(collector.url, 0)
  const processing = worker.start('process m', { kind: 'CONSUMER', parent: sending.traceparent })
  processing.end()
  await worker.close()

  expect(processing.traceId).toBe(sending.traceId)
  expect(collector.spans[1]?.parentSpanId).toBe(collector.spans[0]?.spanId)
})

test('a ratio of 0 traces nothing, and a text that cannot be read begins no trace', async () => {
  const { collector, tracing } = await setup(0)
  expect(tracing.start('POST')).toBe(NO_SPAN)
  expect(tracing.start('process m', { parent: '00-zz-01' })).toBe(NO_SPAN)
  expect(tracing.start('process m', { parent: `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01` })).toBe(NO_SPAN)
  await tracing.close()
  expect(collector.bodies).toEqual([])
})

test('without an endpoint nothing is traced', async () => {
  const tracing = await tracingTo(undefined)
  expect(tracing).toBe(NO_TRACING)
  const span = tracing.start('POST')
  expect(span.child('admit')).toBe(NO_SPAN)
  expect([span.traceId, span.traceparent]).toEqual([undefined, undefined])
  await tracing.close()
})

test('a step returns its result and ends its span; one that throws is marked with the error’s code', async () => {
  const { collector, tracing } = await setup()
  const span = tracing.start('POST')
  const toErrorType = () => 'model_unavailable'
  expect(await traceStep(span, 'reserve', { kind: 'CLIENT', toErrorType, run: async () => 7 })).toBe(7)
  const failing = traceStep(span, 'reserve', {
    toErrorType,
    run: () => {
      throw new Error('the database is away')
    },
  })
  await expect(failing).rejects.toThrow('the database is away')
  span.end()
  await tracing.close()

  expect(collector.spans.map(({ attributes, isError }) => [attributes['error.type'], isError])).toEqual([
    [undefined, false],
    ['model_unavailable', true],
    [undefined, false],
  ])
  expect(collector.bodies.join('')).not.toContain('the database is away')
})

test('a collector that is away costs a line in the log and ends within the limit', async () => {
  const collector = await startOtlpCollector()
  await collector.stop()
  const log = createLogger('test', 'silent')
  const warn = vi.spyOn(log, 'warn')
  const tracing = await tracingTo(collector.url, 1, log)
  tracing.start('POST').end()
  await tracing.close()
  expect(warn).toHaveBeenCalledWith(expect.objectContaining({ spans: 1 }), 'spans not sent')
})
