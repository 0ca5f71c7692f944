import { writeFileSync, writeSync } from 'node:fs'
import type { Reporter } from 'vitest/node'
import { readTreeCpuMs } from './cpu/tree-cpu.ts'
import { describeCosts, type FileCost } from './describe-costs.ts'

/**
 * The variable with the path of the file in which `npm test` reads how many tests passed and failed. If the variable is
 * not set, these numbers are only printed.
 */
const COUNTS_FILE_VARIABLE = 'MILLRACE_TEST_COUNTS_FILE'

/**
 * Prints how the processor time of a run of several files was used, and then `N passed, N failed` as the very last
 * line, even if the run crashes. A file that cannot be loaded counts as failed, and so does an error outside of any
 * test. A run that executed no test exits with 1, unless it was asked to run only changed tests.
 */
export function createSummaryReporter(): Reporter {
  let [passed, failed] = [0, 0]
  const files: FileCost[] = []
  process.once('exit', () => {
    if (passed + failed === 0 && !isOfChanges()) process.exitCode ||= 1
    if (process.exitCode !== 0 && process.exitCode !== undefined && failed === 0) failed = 1
    const file = process.env[COUNTS_FILE_VARIABLE]
    // The shared servers have stopped, so the time of this process includes the time of all other processes.
    const cpuMs = readTreeCpuMs(process.pid)
    if (file !== undefined) writeFileSync(file, JSON.stringify({ passed, failed, cpuSeconds: cpuMs / 1000 }))
    writeSync(1, files.length > 1 ? `${describeCosts(files, cpuMs)}\n` : '')
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
      const { collectDuration, duration } = module.diagnostic()
      files.push({
        project: module.project.name,
        name: module.relativeModuleId,
        tests: [...module.children.allTests()].length,
        wallMs: collectDuration + duration,
        cpuMs: module.meta().cpuMs ?? 0,
      })
    },
    onTestRunEnd(_modules, unhandledErrors) {
      failed += unhandledErrors.length
    },
  }
}

function isOfChanges(): boolean {
  return process.argv.some((argument) => argument.startsWith('--changed'))
}
