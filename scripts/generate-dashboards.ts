// `npm run dashboards`: writes the dashboards of the chart from their descriptions in scripts/dashboards.
import { writeFileSync } from 'node:fs'
import { dashboardFiles } from './dashboards/dashboards.ts'

const REPOSITORY = new URL('..', import.meta.url)
for (const [path, content] of dashboardFiles()) {
  writeFileSync(new URL(path, REPOSITORY), content)
  console.log(path)
}
