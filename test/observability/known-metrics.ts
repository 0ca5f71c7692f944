import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { collectDefaultMetrics, Registry } from '@prometheus-io/client'
import { GEN_AI } from '#libs/telemetry/gen-ai-names.ts'
import { FOREIGN_METRICS } from './foreign-metrics.ts'
import { metricNames } from './metric-names.ts'
import { readDashboards } from './read-dashboards.ts'
import { readRules } from './read-rules.ts'

const REPOSITORY = new URL('../..', import.meta.url).pathname
const REGISTERED = /'(millrace_[a-z0-9_]+)'/g

/** Returns every metric that rules and dashboards read: our metrics, those of the metrics library, and other exporters'. */
export function usedMetrics(): ReadonlySet<string> {
  const { alerts, recordings } = readRules()
  const expressions = [...alerts, ...recordings].map(({ expr }) => expr)
  const names = [...expressions, ...readDashboards().flatMap((dashboard) => dashboard.expressions)].flatMap(
    metricNames,
  )
  const recorded = new Set(recordings.map(({ record }) => record))
  return new Set(names.filter((name) => !recorded.has(name)))
}

/** Returns the names of the metrics in the sources of apps and libraries, in the metrics library and in other exporters. */
export function namedMetrics(): ReadonlySet<string> {
  const sources = globSync('{apps,libs}/**/*.ts', { cwd: REPOSITORY })
  const ours = sources.flatMap((path) =>
    Array.from(readFileSync(join(REPOSITORY, path), 'utf8').matchAll(REGISTERED), ({ 1: name = '' }) => name),
  )
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return new Set([
    ...ours,
    ...Object.values(GEN_AI).map(({ name }) => name),
    ...registry.getMetricsAsArray().map(({ name }) => name),
    ...Object.keys(FOREIGN_METRICS),
    ...readRules().recordings.map(({ record }) => record),
  ])
}
