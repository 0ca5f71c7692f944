import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { REPOSITORY } from './repository.mjs'
import { runNode } from './run-node.mjs'

/** Keeps the compiled code of the tests and of all processes that they start; the processes inherit this setting. */
const COMPILE_CACHE = join(REPOSITORY, 'node_modules/.cache/compiled')

/**
 * Runs Vitest with these arguments. `within` is an outer command that runs it, as in `runNode`. Resolves with the
 * numbers of passed and failed tests, and their cost.
 */
export async function runTests(args, within = []) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-counts-'))
  const file = join(folder, 'counts.json')
  try {
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', ...args]
    const env = { MILLRACE_TEST_COUNTS_FILE: file, NODE_COMPILE_CACHE: COMPILE_CACHE }
    const code = await runNode(vitest, env, within)
    const counts = readCounts(file)
    // Vitest itself failed, so no test counts as failed.
    if (code !== 0 && counts.failed === 0) counts.failed = 1
    return counts
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs Vitest as `runTests` does and prints how many tests passed and failed; resolves with the exit code. */
export async function runAndCount(args, within) {
  const { passed, failed } = await runTests(args, within)
  console.log(`${passed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}

function readCounts(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return { passed: 0, failed: 1, cpuSeconds: 0 }
  }
}
