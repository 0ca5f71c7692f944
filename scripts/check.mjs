// `npm run check`: everything that can be said of the code without running it. All checks run, whatever the first
// ones say; the exit code is the number of those that failed.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { runChecks } from './bootstrap/run-checks.mjs'

await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: true })
  return (await runChecks({ imports: true })).failed.length
})
