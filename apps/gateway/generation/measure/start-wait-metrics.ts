import type { Registry } from '@prometheus-io/client'
import { declareMetrics } from '#libs/telemetry/declare-metrics.ts'
import { boundModelLabel } from '#libs/telemetry/gen-ai-names.ts'
import type { StartWaitEnd } from '../admission/start-waits.ts'

/** Measures the waits for models that are being started: how many there are now, by model, and how they ended. */
export function createStartWaitMetrics(registry: Registry, counts: () => ReadonlyMap<string, number>) {
  const { counter, gauge } = declareMetrics(registry)
  const label = boundModelLabel()
  const ends = counter({
    name: 'millrace_gateway_start_waits_total',
    help: 'Requests that asked to wait for a model that was being started, by the end of their wait',
    labelNames: ['model', 'end'],
  })
  gauge({
    name: 'millrace_gateway_start_waiting',
    help: 'Requests that wait for a model that is being started',
    labelNames: ['model'],
    read: () => [...counts()].map(([model, waiting]) => [{ model }, waiting]),
  })
  return {
    noteEnd: (model: string, end: StartWaitEnd) => ends.inc({ model: label(model), end }),
  }
}
