import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dashboardFiles } from '#scripts/dashboards/dashboards.ts'
import { metricNames } from '#test/observability/metric-names.ts'
import { REPOSITORY } from './source-files.ts'

test('the dashboards of the chart are those of their descriptions (npm run dashboards)', () => {
  const described = dashboardFiles()
  expect(described.size).toBe(4)
  expect(globSync('deploy/helm/millrace/files/dashboards/*', { cwd: REPOSITORY }).toSorted()).toEqual(
    [...described.keys()].toSorted(),
  )
  for (const [path, content] of described) expect(readFileSync(join(REPOSITORY, path), 'utf8')).toBe(content)
})

test('metrics are found in an expression, and labels, functions and durations are not', () => {
  expect(
    metricNames(
      'histogram_quantile(0.9, sum by (model, le) (rate(a_seconds_bucket{x="b(c)", y=~"d"}[5m] offset 1h))) > 2 * on () group_left () e:f or g unless h[3d:1m]',
    ),
  ).toEqual(['a_seconds_bucket', 'e:f', 'g', 'h'])
})
