import type { Logger } from '#libs/telemetry/logger.ts'
import { createTracing, type Tracing } from '#libs/telemetry/tracing.ts'
import type { Releasers } from './releasers.ts'

/**
 * Opens the tracing of an app as its environment configures it. Call it before the app opens its other resources:
 * tracing is then released after them, and sends the spans that have not been sent yet.
 */
export async function openTracing(
  app: string,
  options: {
    /** The name of this process in logs. */
    instance: string
    config: { readonly OTLP_ENDPOINT?: string | undefined; readonly TRACE_RATIO: number }
    log: Logger
    releasers: Releasers
  },
): Promise<Tracing> {
  const { instance, config, log, releasers } = options
  const { OTLP_ENDPOINT: endpoint, TRACE_RATIO: ratio } = config
  return releasers.add('tracing', await createTracing({ app, instance, endpoint, ratio, log }), {
    run: async (tracing) => await tracing.close(),
  })
}
