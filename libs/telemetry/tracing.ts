import type { Logger } from './logger.ts'
import { NO_SPAN, type Span, type StartOptions } from './span.ts'

export type Tracing = {
  /** Begins a trace, or continues the trace of `parent`. Returns NO_SPAN if the request is not traced. */
  start(name: string, options?: StartOptions): Span
  /** Sends the remaining spans. Resolves after some seconds at most, and never rejects. */
  close(): Promise<void>
}

export const NO_TRACING: Tracing = { start: () => NO_SPAN, close: async () => undefined }

/**
 * Traces a share of the requests and sends their spans as OTLP over HTTP. Without an endpoint nothing is traced, and
 * the packages of OpenTelemetry are not loaded, because they are a sixth of the modules that a process loads. There is
 * no context manager: a function that adds to a trace receives the span as an argument.
 */
export async function createTracing(options: {
  app: string
  /** The name of this process in logs and metrics. */
  instance: string
  endpoint: string | undefined
  ratio: number
  log: Logger
}): Promise<Tracing> {
  const { endpoint } = options
  if (endpoint === undefined) return NO_TRACING
  const { exportSpans } = await import('./export-spans.ts')
  return exportSpans({ ...options, endpoint })
}
