import type { Counter, Histogram, Registry } from '@prometheus-io/client'
import { declareMetrics } from '#libs/telemetry/declare-metrics.ts'
import { boundModelLabel, GEN_AI } from '#libs/telemetry/gen-ai-names.ts'
import { RETRY_AFTER_RANGE_S } from '../../retry-after.ts'

/** The metrics of whole generations. `model` turns an id of the catalog into a label. */
export type GenerationMetrics = {
  readonly model: (id: string) => string
  readonly admissions: Counter<'model' | 'outcome'>
  readonly retryAfterS: Histogram<'model' | 'outcome'>
  readonly durationS: Histogram<(typeof GEN_AI.requestDuration.labelNames)[number]>
  readonly firstTokenS: Histogram<(typeof GEN_AI.timeToFirstToken.labelNames)[number]>
  readonly perTokenS: Histogram<(typeof GEN_AI.timePerOutputToken.labelNames)[number]>
  readonly tokens: Histogram<(typeof GEN_AI.tokenUsage.labelNames)[number]>
}

const RETRY_AFTER_BUCKETS_S = [RETRY_AFTER_RANGE_S.min, 2, 5, 10, 20, 30, 45, RETRY_AFTER_RANGE_S.max]

export function createGenerationMetrics(registry: Registry): GenerationMetrics {
  const { counter, histogram } = declareMetrics(registry)
  return {
    model: boundModelLabel(),
    admissions: counter({
      name: 'millrace_gateway_admissions_total',
      help: 'Requests for a generation, by the outcome of their admission',
      labelNames: ['model', 'outcome'],
    }),
    retryAfterS: histogram({
      name: 'millrace_gateway_retry_after_seconds',
      help: 'Waits that refused clients were given, of busy and of warming models',
      labelNames: ['model', 'outcome'],
      buckets: RETRY_AFTER_BUCKETS_S,
    }),
    durationS: histogram(GEN_AI.requestDuration),
    firstTokenS: histogram(GEN_AI.timeToFirstToken),
    perTokenS: histogram(GEN_AI.timePerOutputToken),
    tokens: histogram(GEN_AI.tokenUsage),
  }
}
