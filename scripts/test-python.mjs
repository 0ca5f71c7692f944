// `npm run test:python`: tests Python clients against a separate cluster. The agent frameworks and lm-evaluation-harness
// have environments of their own, because their packages may require other versions than the clients.
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
  const suites = [
    { programs: ensurePython('clients'), folder: 'test/python' },
    { programs: ensurePython('agents'), folder: 'test/python/agents' },
    { programs: ensurePython('evaluation'), folder: 'test/python/evaluation' },
  ]
  return await withCluster(async ({ env }) => {
    const codes = []
    for (const { programs, folder } of suites) {
      const options = ['-m', 'unittest', 'discover', '--start-directory', folder, ...process.argv.slice(2)]
      codes.push(await runProgram(join(programs, 'python'), options, { env, limitMs: LIMIT_MS }))
    }
    return Math.max(...codes)
  })
})
