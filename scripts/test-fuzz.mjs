// `npm run test:fuzz`: about 5,000 requests that schemathesis generates from the description of the interface, against
// a cluster of its own. It fails on an answer that is not in the description, and on an error in a log, because a
// caller would see an unexpected failure as a documented 502 or 503.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { say } from './bootstrap/progress.mjs'
import { ensurePython } from './python/ensure-python.mjs'
import { runProgram } from './python/run-program.mjs'
import { withCluster } from './python/with-cluster.mjs'

const LIMIT_MS = 30 * 60_000
const ERROR_LEVEL = 50

await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: false })
  const programs = ensurePython('clients')
  return await withCluster(async ({ env, home }) => {
    const url = new URL('/openapi.json', env.OPENAI_BASE_URL)
    const code = await runProgram(
      join(programs, 'schemathesis'),
      ['--config-file', 'test/python/schemathesis.toml', 'run', url.href, ...process.argv.slice(2)],
      { env: { ...env, PYTHONPATH: 'test/python' }, limitMs: LIMIT_MS },
    )
    const failures = ['gateway', 'worker', 'billing'].flatMap((app) => readFailures(home, app))
    for (const line of failures.slice(0, 10)) console.error(line)
    if (failures.length > 0) say(`${failures.length} errors in the logs`)
    return code === 0 && failures.length === 0 ? 0 : 1
  })
})

/** Returns an app's log lines of level error. */
function readFailures(home, app) {
  const lines = readFileSync(join(home, 'logs', `${app}.log`), 'utf8').split('\n')
  return lines.filter((line) => line.startsWith('{') && JSON.parse(line).level >= ERROR_LEVEL)
}
