import { z } from 'zod'

/** The fields of every app's environment schema that configure tracing. */
export const TraceFields = {
  /**
   * The address to which spans are sent as OTLP over HTTP (`/v1/traces` is appended). If absent, there is no tracing.
   */
  OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: 'expected an http:// or https:// URL' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  /** The share of requests that are traced. The gateway decides; the other processes follow it. */
  TRACE_RATIO: z.coerce.number().min(0).max(1).default(0.05),
}
