// `npm run test:soak`: what takes longer than a change should wait for. Ten minutes of kills, and ten times the
// histories of `npm test`.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { runTests } from './bootstrap/run-tests.mjs'

await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: true })
  const { failed } = await runTests(['--project', 'soak', ...process.argv.slice(2)])
  return failed === 0 ? 0 : 1
})
