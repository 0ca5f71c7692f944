/**
 * The metrics of the OpenTelemetry conventions for generative AI, as options of a Histogram. The
 * conventions (github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai/gen-ai-metrics.md) have the status
 * Development; if a metric is renamed, only this file changes. Names follow OpenTelemetry's rules for Prometheus: `.`
 * becomes `_`, and the unit `s` becomes the suffix `_seconds`.
 *
 * Every bucket boundary of the conventions is included, so dashboards written for them work. Two kinds of boundaries
 * are added:
 * - Boundaries above the last boundary of the conventions. They are for generations that take up to 10 minutes, and for
 *   requests that wait long for a worker.
 * - The objectives (2 s to the first token, 80 ms per output token), because an alert cannot measure an objective that
 *   lies between two boundaries.
 */
const OPERATION_S = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const LONGER_OPERATION_S = [...OPERATION_S, 163.84, 327.68, 655.36]
const FIRST_TOKEN_S = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2, 2.5, 5, 7.5, 10, 20, 40, 80,
]
const OUTPUT_TOKEN_S = [0.01, 0.025, 0.05, 0.075, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5]
const TOKENS = [
  1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
]

export const GEN_AI = {
  /** Measured by the gateway, from the request's header to the last byte of its response. */
  requestDuration: {
    name: 'gen_ai_server_request_duration_seconds',
    help: 'Duration of a request for a generation, to the last byte of its response',
    labelNames: ['gen_ai_operation_name', 'gen_ai_request_model', 'error_type'],
    buckets: LONGER_OPERATION_S,
  },
  /** Measured by the gateway, from the request's header to the first token, for successful responses only. */
  timeToFirstToken: {
    name: 'gen_ai_server_time_to_first_token_seconds',
    help: 'Time to the first output token of a successful response, waiting for a worker included',
    labelNames: ['gen_ai_operation_name', 'gen_ai_request_model'],
    buckets: FIRST_TOKEN_S,
  },
  /**
   * Measured by the gateway: the time from the first token to the end of the response, divided by the number of tokens
   * after the first one. Only successful responses with at least two tokens count.
   */
  timePerOutputToken: {
    name: 'gen_ai_server_time_per_output_token_seconds',
    help: 'Time per output token after the first one of a successful response',
    labelNames: ['gen_ai_operation_name', 'gen_ai_request_model'],
    buckets: OUTPUT_TOKEN_S,
  },
  /** Counted by the gateway: billed tokens of a generation, once for each `gen_ai_token_type` (`input`, `output`). */
  tokenUsage: {
    name: 'gen_ai_client_token_usage',
    help: 'Billed tokens of a generation, by type',
    labelNames: ['gen_ai_operation_name', 'gen_ai_request_model', 'gen_ai_token_type'],
    buckets: TOKENS,
  },
  /** Measured by the worker as a client of its engine: one call of the engine. */
  operationDuration: {
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Duration of a call of the engine',
    labelNames: ['gen_ai_operation_name', 'gen_ai_request_model', 'error_type'],
    buckets: LONGER_OPERATION_S,
  },
  /** Measured by the worker, from the call of the engine to its first output, without queue and rendering. */
  timeToFirstChunk: {
    name: 'gen_ai_client_operation_time_to_first_chunk_seconds',
    help: 'Time from the call of the engine to its first output',
    labelNames: ['gen_ai_operation_name', 'gen_ai_request_model'],
    buckets: OPERATION_S,
  },
} as const

/**
 * Returns a function from a model's id to the value of the label `gen_ai_request_model`: the id itself for the first
 * `max` different ids, `other` for all later ids. Call it only with ids of the catalog: an id invented by a client
 * would use up a place.
 */
export function boundModelLabel(max = 100): (id: string) => string {
  const labels = new Set<string>()
  return (id) => {
    if (labels.has(id)) return id
    if (labels.size >= max) return 'other'
    labels.add(id)
    return id
  }
}
