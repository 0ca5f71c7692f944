// `node scripts/with-dependencies.mjs FILE [ARGUMENTS]`: installs the missing dependencies, then runs a program of this
// repository or of its dependencies under the installed Node.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { runNode } from './bootstrap/run-node.mjs'

await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: true })
  return await runNode(process.argv.slice(2))
})
