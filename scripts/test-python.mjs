// `npm run test:python`: tests Python clients against a separate cluster.
import { join } from 'node:path'
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { ensurePython } from './python/ensure-python.mjs'
import { runProgram } from './python/run-program.mjs'
import { withCluster } from './python/with-cluster.mjs'

const LIMIT_MS = 10 * 60_000

await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: false })
  const programs = ensurePython('clients')
  return await withCluster(
    async ({ env }) =>
      await runProgram(
        join(programs, 'python'),
        ['-m', 'unittest', 'discover', '--start-directory', 'test/python', ...process.argv.slice(2)],
        { env, limitMs: LIMIT_MS },
      ),
  )
})
