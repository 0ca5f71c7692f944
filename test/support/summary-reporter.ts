import { writeFileSync, writeSync } from 'node:fs'
import type { Reporter } from 'vitest/node'

/** Where `npm test` reads the counts of the run; without it they are only printed. */
const COUNTS_FILE_VARIABLE = 'MILLRACE_TEST_COUNTS_FILE'
const SLOWEST = 10

/**
 * Prints the ten slowest files of a run that has more, and then `N passed, N failed` as its very last line, also when
 * the run crashes. A file that cannot be loaded and an error outside of any test count as failed. A run that executed
 * nothing exits with 1.
 */
export function createSummaryReporter(): Reporter {
  let [passed, failed] = [0, 0]
  const files: { name: string; durationMs: number }[] = []
  process.once('exit', () => {
    if (passed + failed === 0) process.exitCode ||= 1
    if (process.exitCode !== 0 && process.exitCode !== undefined && failed === 0) failed = 1
    const file = process.env[COUNTS_FILE_VARIABLE]
    if (file !== undefined) writeFileSync(file, JSON.stringify({ passed, failed }))
    writeSync(1, files.length > SLOWEST ? describeSlowest() : '')
    writeSync(1, `${passed} passed, ${failed} failed\n`)
  })

  function describeSlowest(): string {
    const slowest = files.sort((left, right) => right.durationMs - left.durationMs).slice(0, SLOWEST)
    const lines = slowest.map(
      ({ name, durationMs }) => `${(durationMs / 1000).toFixed(1).padStart(7)} s  ${name}\n`,
    )
    return `The ${SLOWEST} slowest files:\n${lines.join('')}\n`
  }

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
      const { collectDuration, duration } = module.diagnostic()
      files.push({ name: module.relativeModuleId, durationMs: collectDuration + duration })
    },
    onTestRunEnd(_modules, unhandledErrors) {
      failed += unhandledErrors.length
    },
  }
}
