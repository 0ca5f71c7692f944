// `npm run test:rules`: checks the chart's alert rules and dashboards with promtool. Each alert must fire in one
// situation and stay silent in another, and each expression of a dashboard must parse.
import { readAlertCases } from './alert-cases.ts'
import { findPromtool, runPromtool } from './promtool.ts'
import { readDashboards } from './read-dashboards.ts'
import { readRules } from './read-rules.ts'
import { toTestFile } from './test-file.ts'

const promtool = findPromtool()
if (promtool === null) {
  console.error('promtool is missing: set KUBE_LAB_BIN to a folder that has it, or install Prometheus.')
  process.exit(1)
}

const { paths, alerts } = readRules()
const alertCases = readAlertCases()
const counts = { passed: 0, failed: 0 }

function check(name: string, run: () => void): void {
  try {
    run()
    counts.passed += 1
  } catch (error) {
    counts.failed += 1
    console.error(`× ${name}\n${error instanceof Error ? error.message : String(error)}`)
  }
}

check('the rules are correct', () => runPromtool(promtool, ['check', 'rules', '--lint-fatal', ...paths], {}))

for (const { alert } of alerts) {
  const cases = alertCases.filter((one) => one.alert === alert)
  check(`${alert} has a case`, () => {
    if (cases.length === 0) throw new Error('it has none')
  })
}
for (const alertCase of alertCases) {
  check(`${alertCase.alert} fires and stays silent`, () => {
    const alert = alerts.find((one) => one.alert === alertCase.alert)
    if (alert === undefined) throw new Error('there is no such alert')
    runPromtool(promtool, ['test', 'rules'], {
      'test.yaml': toTestFile(alertCase, { alert, rulePaths: paths }),
    })
  })
}

const dashboards = readDashboards()
for (const { path, expressions } of dashboards) {
  check(`the expressions of ${path} parse`, () => {
    if (expressions.length === 0) throw new Error('it has none')
    const rules = expressions.map((expr, n) => ({ record: `dashboard:expression:${n}`, expr }))
    runPromtool(promtool, ['check', 'rules'], { 'rules.yaml': { groups: [{ name: 'dashboard', rules }] } })
  })
}

console.log(`${counts.passed} passed, ${counts.failed} failed`)
process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1
