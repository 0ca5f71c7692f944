import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Registry } from '@prometheus-io/client'
import { declareMetrics } from './declare-metrics.ts'

/** The timer period of Node's monitor. Each sample includes the period. */
const PERIOD_MS = 50

/**
 * The periods of the library's own monitors, which cannot be switched off. With these periods they wake the process
 * twice a minute instead of 110 times a second.
 */
export const IDLE_MONITORS = { eventLoopMonitoringPrecision: 60_000, eventLoopUtilizationTimeout: 60_000 }

/**
 * Replaces the metrics of the event loop by two metrics of how late the loop was since the last scrape: the
 * 99th percentile and the maximum. The timer period is subtracted from both values. The library's own metrics need 100
 * samples a second, which take half of the processor time of an idle process.
 */
export function measureEventLoopLag(registry: Registry): void {
  for (const { name } of registry.getMetricsAsArray()) {
    if (name.startsWith('nodejs_eventloop_')) registry.removeSingleMetric(name)
  }
  const monitor = monitorEventLoopDelay({ resolution: PERIOD_MS })
  monitor.enable()
  const toLagS = (sampleNs: number) => Math.max(0, sampleNs / 1e9 - PERIOD_MS / 1e3)
  const { gauge } = declareMetrics(registry)
  gauge({
    name: 'nodejs_eventloop_lag_p99_seconds',
    help: 'How late the event loop was since the last scrape: the 99th percentile of samples taken every 50 ms',
    read() {
      const isSampled = monitor.count > 0
      const p99S = isSampled ? toLagS(monitor.percentile(99)) : 0
      longest.set(isSampled ? toLagS(monitor.max) : 0)
      monitor.reset()
      return p99S
    },
  })
  // The `read` of the first gauge also sets this gauge. The registry collects gauges in the order of their registration,
  // so this gauge is registered second.
  const longest = gauge({
    name: 'nodejs_eventloop_lag_max_seconds',
    help: 'How late the event loop was since the last scrape, at most',
  })
}
