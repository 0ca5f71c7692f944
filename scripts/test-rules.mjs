// `npm run test:rules`: checks the alert rules and the dashboards of the chart with Prometheus' promtool.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { runNode } from './bootstrap/run-node.mjs'

await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: true })
  return await runNode(['test/observability/main.ts'])
})
