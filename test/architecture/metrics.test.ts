import { expect, test } from 'vitest'
import { namedMetrics, usedMetrics } from '#test/observability/known-metrics.ts'
import { toMetric } from '#test/observability/metric-names.ts'

test('rules and dashboards use metrics that the source of an app names, or that are listed as foreign', () => {
  const known = namedMetrics()
  const used = [...usedMetrics()]
  expect(used.length).toBeGreaterThan(40)
  expect(used.filter((name) => !known.has(name) && !known.has(toMetric(name)))).toEqual([])
})
