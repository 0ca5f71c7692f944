// `npm run check`: types, lint, format, dead code and import rules. All checks run, also after one has failed; the exit
// code is the number of failed checks.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { runChecks } from './bootstrap/run-checks.mjs'

await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: true })
  return (await runChecks({ imports: true, lanes: 2 })).failed.length
})
