import { printJson } from '../print-json.ts'
import { CAPACITY } from './capacity.ts'
import { toGrafana } from './dashboard.ts'
import { MODEL_DASHBOARD } from './model.ts'
import { MONEY } from './money.ts'
import { SERVICE } from './service.ts'

const DASHBOARDS = [SERVICE, CAPACITY, MODEL_DASHBOARD, MONEY]

/**
 * Returns the content of each dashboard file of the chart, by its path in the repository. Each panel takes one line.
 */
export function dashboardFiles(): ReadonlyMap<string, string> {
  return new Map(
    DASHBOARDS.map((dashboard) => {
      const content = toGrafana(dashboard)
      const path = `deploy/helm/millrace/files/dashboards/${dashboard.name}.json`
      return [path, printJson(content, (part) => part === content || part === content.panels)]
    }),
  )
}
