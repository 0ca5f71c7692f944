// `npm run test:attacks [-- PART OF A PATH]`: the long forms of the attacks in `test/attacks/`: more connections, more
// rounds, more random bodies. `npm test` runs the short forms.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { runAndCount } from './bootstrap/run-tests.mjs'

await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: true })
  process.env.MILLRACE_TEST_LONG = '1'
  return await runAndCount(['--project', 'attacks', '--test-timeout', '1800000', ...process.argv.slice(2)])
})
