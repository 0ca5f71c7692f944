// `npm test`: runs the checks in parallel with all tests. The last line is `N passed, N failed`, in which each check
// counts as one, even if the test runner crashes or finds nothing to run.
import { readFileSync } from 'node:fs'
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { startedAt } from './bootstrap/progress.mjs'
import { runChecks } from './bootstrap/run-checks.mjs'
import { runTests } from './bootstrap/run-tests.mjs'

const NOT_HERE = ['soak', 'chart', 'containers', 'kube', 'node']

const total = { passed: 0, failed: 0 }
await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: true })
  const notHere = NOT_HERE.flatMap((project) => ['--project', `!${project}`])
  const [checks, tests] = await Promise.all([
    runChecks({ imports: false, lanes: 1 }),
    runTests([...notHere, ...process.argv.slice(2)]),
  ])
  total.passed += checks.passed.length + tests.passed
  total.failed += checks.failed.length + tests.failed
  for (const name of checks.failed) console.log(`failed check: ${name}`)
  describeCost(tests.cpuSeconds)
  return total.failed === 0 ? 0 : 1
})
if (process.exitCode !== 0 && total.failed === 0) total.failed = 1
console.log(`${total.passed} passed, ${total.failed} failed`)

/** Prints the seconds of the whole run. The seconds of the tests are printed above, at their end. */
function describeCost(testsCpuSeconds) {
  const cpuSeconds = readChildrenCpuSeconds()
  const wallSeconds = (performance.now() - startedAt) / 1000
  const others = Math.max(0, cpuSeconds - testsCpuSeconds)
  console.log(
    `${wallSeconds.toFixed(0)} s, ${cpuSeconds.toFixed(0)} CPU s, ${others.toFixed(0)} of them for set-up and checks`,
  )
}

/**
 * Returns the processor time in seconds (user and system) of all processes that this process started and waited for,
 * and of their own children. Source of the fields: proc_pid_stat(5), 16 and 17, in hundredths of a second.
 */
function readChildrenCpuSeconds() {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(13, 15)
  return (Number(user) + Number(system)) / 100
}
