// `npm run test:long [-- PART OF A PATH] [--record]`: the long forms of the tests, which take too long for each change.
// It runs all random cases, all histories on each mutant of the money functions, and ten minutes of killed billing
// processes. Then it runs the model of the record with more faults, ten minutes of random faults of a cluster, and the
// mutants that these faults must find. With parts of paths it runs only the test files whose path contains one.
// `--record` writes `test/integration/billing/mutants/killers.json` anew.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { REPOSITORY } from './bootstrap/repository.mjs'
import { runScript, SetupError } from './bootstrap/fail.mjs'
import { say } from './bootstrap/progress.mjs'
import { runNode } from './bootstrap/run-node.mjs'
import { runTests } from './bootstrap/run-tests.mjs'

const PROGRAMS = [
  ['--max-old-space-size=600', 'test/protocol-model/main.ts'],
  ['test/chaos/main.ts', '--minutes', '10'],
  ['test/chaos/mutants/main.ts'],
]

await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: true })
  const parts = process.argv.slice(2).filter((argument) => argument !== '--record')
  process.env.MILLRACE_TEST_LONG = '1'
  if (process.argv.includes('--record')) process.env.MILLRACE_RECORD_KILLERS = '1'
  const files = longFiles().filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
  if (files.length === 0) throw new SetupError('no file with a long form has this path')
  // The default time limit is for the short forms. This limit only ends a test that hangs.
  const tests = await runTests(['--test-timeout', '1800000', ...files])
  const failed = tests.failed === 0 ? [] : ['tests']
  for (const program of parts.length === 0 ? PROGRAMS : []) {
    const name = program.join(' ')
    say(name)
    if ((await runNode(program)) !== 0) failed.push(name)
  }
  for (const name of failed) console.log(`failed: ${name}`)
  return failed.length === 0 ? 0 : 1
})

/** Returns the test files that ask whether they run in their long form, and the files that have only a long form. */
function longFiles() {
  const files = readdirSync(join(REPOSITORY, 'test'), { recursive: true }).map((name) => `test/${name}`)
  return files
    .filter((file) => file.endsWith('.test.ts'))
    .filter(
      (file) =>
        file.startsWith('test/soak/') ||
        readFileSync(join(REPOSITORY, file), 'utf8').includes("'#test/support/long.ts'"),
    )
}
