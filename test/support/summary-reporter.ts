import { writeFileSync, writeSync } from 'node:fs'
import type { Reporter } from 'vitest/node'

/** Where `npm test` reads the counts of the run; without it they are only printed. */
const COUNTS_FILE_VARIABLE = 'MILLRACE_TEST_COUNTS_FILE'

/**
 * Makes `N passed, N failed` the very last line of a run, also of one that crashes. A file that cannot be
 * loaded and an error outside of any test count as failed. A run that executed nothing exits with 1.
 */
export function createSummaryReporter(): Reporter {
  let [passed, failed] = [0, 0]
  process.once('exit', () => {
    if (passed + failed === 0) process.exitCode ||= 1
    if (process.exitCode !== 0 && process.exitCode !== undefined && failed === 0) failed = 1
    const file = process.env[COUNTS_FILE_VARIABLE]
    if (file !== undefined) writeFileSync(file, JSON.stringify({ passed, failed }))
    writeSync(1, `${passed} passed, ${failed} failed\n`)
  })
  return {
    onTestCaseResult(testCase) {
      const { state } = testCase.result()
      if (state === 'passed') passed += 1
      if (state === 'failed') failed += 1
    },
    onTestSuiteResult(suite) {
      if (suite.errors().length > 0) failed += 1
    },
    onTestModuleEnd(module) {
      if (module.errors().length > 0) failed += 1
    },
    onTestRunEnd(_modules, unhandledErrors) {
      failed += unhandledErrors.length
    },
  }
}
