// `npm run chaos -- --minutes 30 [--seed N]`: random faults over a loaded cluster; see test/chaos/main.ts.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { runNode } from './bootstrap/run-node.mjs'

await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: true })
  return await runNode(['test/chaos/main.ts', ...process.argv.slice(2)])
})
