import type { Registry } from '@prometheus-io/client'
import { ApiError } from '#libs/contracts/api-error.ts'
import { declareMetrics } from '#libs/telemetry/declare-metrics.ts'
import { Interruption } from '../generation/request/interrupted.ts'

/**
 * Returns a function that counts the streams which had begun and then ended with an error event. If an `Interruption`
 * caused the error, the label `reason` is the reason of the interruption. For any other `ApiError` the label is its
 * code, and for an unexpected failure it is `internal`.
 */
export function createCountCutStream(registry: Registry): (error: unknown) => void {
  const cut = declareMetrics(registry).counter({
    name: 'millrace_gateway_streams_cut_total',
    help: 'Streams that had begun and ended with an error event, by its cause',
    labelNames: ['reason'],
  })
  return (error) => cut.inc({ reason: toReason(error) })
}

function toReason(error: unknown): string {
  if (!(error instanceof ApiError)) return 'internal'
  return error.cause instanceof Interruption ? error.cause.reason : error.code
}
