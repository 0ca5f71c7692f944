// `npm test`: the checks, then every test. Its last line is `N passed, N failed`, in which each check counts as one,
// also when the test runner crashes or finds nothing to run.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { say } from './bootstrap/progress.mjs'
import { runChecks } from './bootstrap/run-checks.mjs'
import { runNode } from './bootstrap/run-node.mjs'

const total = { passed: 0, failed: 0 }
await runScript(async () => {
  checkPlatform()
  await ensureDependencies()
  const checks = await runChecks({ imports: false })
  total.passed += checks.passed.length
  total.failed += checks.failed.length
  say('tests')
  const tests = await runTests(process.argv.slice(2))
  total.passed += tests.passed
  total.failed += tests.failed
  for (const name of checks.failed) console.log(`failed check: ${name}`)
  return total.failed === 0 ? 0 : 1
})
if (process.exitCode !== 0 && total.failed === 0) total.failed = 1
console.log(`${total.passed} passed, ${total.failed} failed`)

async function runTests(args) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-counts-'))
  const file = join(folder, 'counts.json')
  try {
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', ...args]
    const code = await runNode(vitest, { MILLRACE_TEST_COUNTS_FILE: file })
    const counts = readCounts(file)
    // A runner that says nothing, or fails without a failed test, has failed itself.
    if (code !== 0 && counts.failed === 0) counts.failed = 1
    return counts
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function readCounts(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return { passed: 0, failed: 1 }
  }
}
