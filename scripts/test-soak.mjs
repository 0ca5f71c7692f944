// `npm run test:soak`: the tests that take too long for every change: ten minutes of killed billing processes, and ten
// times the random histories of `npm test`.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { runTests } from './bootstrap/run-tests.mjs'

await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: true })
  const { failed } = await runTests(['--project', 'soak', ...process.argv.slice(2)])
  return failed === 0 ? 0 : 1
})
