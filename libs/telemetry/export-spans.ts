import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type SpanExporter,
} from '@opentelemetry/sdk-trace'
import type { Logger } from './logger.ts'
import { createSpanIds } from './span-ids.ts'
import { startSpan } from './start-span.ts'
import type { Tracing } from './tracing.ts'
import { VERSION } from './version.ts'

/**
 * The most spans that may wait to be sent. Further spans are dropped, so that tracing cannot fill a process's memory
 * while the collector is unavailable.
 */
const MOST_SPANS = 4_096
const SPANS_PER_EXPORT = 512
const EXPORT_EVERY_MS = 2_000
const EXPORT_LIMIT_MS = 3_000

/** Sends spans to a collector, as `createTracing` describes. */
export function exportSpans(options: {
  app: string
  instance: string
  endpoint: string
  ratio: number
  log: Logger
}): Tracing {
  const { app, instance, endpoint, ratio, log } = options
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: EXPORT_LIMIT_MS })
  const ids = createSpanIds()
  const provider = new TracerProvider({
    idGenerator: ids.generator,
    resource: resourceFromAttributes({
      'service.name': `millrace-${app}`,
      'service.version': VERSION,
      'service.instance.id': instance,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: logFailures(exporter, log),
        maxQueueSize: MOST_SPANS,
        maxExportBatchSize: SPANS_PER_EXPORT,
        scheduledDelayMillis: EXPORT_EVERY_MS,
        exportTimeoutMillis: EXPORT_LIMIT_MS,
      }),
    ],
  })
  const tracer = provider.getTracer('millrace', VERSION)
  return {
    start(name, spanOptions = {}) {
      const { key } = spanOptions
      const start = () => startSpan(tracer, name, spanOptions)
      return key === undefined ? start() : ids.withKey(key, start)
    },
    async close() {
      await provider
        .shutdown()
        .catch((error: unknown) => log.warn({ err: error }, 'spans not sent at the end'))
    },
  }
}

/** Wraps the exporter and logs a line for each batch that was lost. */
function logFailures(exporter: SpanExporter, log: Logger): SpanExporter {
  return {
    export(spans, report) {
      exporter.export(spans, (result) => {
        if (result.error !== undefined) log.warn({ err: result.error, spans: spans.length }, 'spans not sent')
        report(result)
      })
    },
    shutdown: async () => await exporter.shutdown(),
    forceFlush: async () => await exporter.forceFlush?.(),
  }
}
