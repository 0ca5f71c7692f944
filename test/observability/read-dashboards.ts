import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const REPOSITORY = new URL('../..', import.meta.url).pathname
const FOLDER = 'deploy/helm/millrace/files/dashboards'

const Dashboard = z.looseObject({
  panels: z.array(z.looseObject({ targets: z.array(z.looseObject({ expr: z.string() })).optional() })),
  templating: z.looseObject({ list: z.array(z.looseObject({ query: z.unknown() })) }),
})

/** A value for each of Grafana's variables, because Prometheus gets expressions without variables. */
const VARIABLES: Readonly<Record<string, string>> = {
  $__rate_interval: '5m',
  $__range: '1h',
  $namespace: 'default',
  $model: 'model',
}

/**
 * Returns the expressions of each dashboard of the chart, with values for variables. Throws if there is no dashboard.
 */
export function readDashboards(): { path: string; expressions: string[] }[] {
  const paths = globSync(`${FOLDER}/*.json`, { cwd: REPOSITORY }).toSorted()
  if (paths.length === 0) throw new Error(`${FOLDER} has no dashboards`)
  return paths.map((path) => {
    const text = readFileSync(join(REPOSITORY, path), 'utf8')
    const { panels } = Dashboard.parse(JSON.parse(text))
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => withValues(expr)))
    return { path, expressions }
  })
}

function withValues(expr: string): string {
  const result = expr.replaceAll(/\$\w+/g, (name) => VARIABLES[name] ?? name)
  const unknown = /\$(?!\d)\w+/.exec(result)
  if (unknown !== null) throw new Error(`${unknown[0]} is no variable of the dashboards: ${expr}`)
  return result
}
