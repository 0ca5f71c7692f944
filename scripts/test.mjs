// `npm test`: the checks, then every test. Its last line is `N passed, N failed`, in which each check counts as one,
// also when the test runner crashes or finds nothing to run.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { say } from './bootstrap/progress.mjs'
import { runChecks } from './bootstrap/run-checks.mjs'
import { runTests } from './bootstrap/run-tests.mjs'

const total = { passed: 0, failed: 0 }
await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: true })
  const checks = await runChecks({ imports: false })
  total.passed += checks.passed.length
  total.failed += checks.failed.length
  say('tests')
  const notHere = ['!soak', '!chart', '!containers', '!kube', '!node'].flatMap((project) => [
    '--project',
    project,
  ])
  const tests = await runTests([...notHere, ...process.argv.slice(2)])
  total.passed += tests.passed
  total.failed += tests.failed
  for (const name of checks.failed) console.log(`failed check: ${name}`)
  return total.failed === 0 ? 0 : 1
})
if (process.exitCode !== 0 && total.failed === 0) total.failed = 1
console.log(`${total.passed} passed, ${total.failed} failed`)
