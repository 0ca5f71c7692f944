// `npm start`. Must run on Node 20 before anything is installed, so it is plain JavaScript and imports no package. It
// installs the packages of a cluster, one of which is Node itself, then runs scripts/cluster/ on that Node.
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { startedAt } from './bootstrap/progress.mjs'
import { runScript } from './bootstrap/fail.mjs'
import { runCluster } from './bootstrap/run-cluster.mjs'
import { HELP, parseStartOptions, UsageError } from './bootstrap/start-options.mjs'

await runScript(async () => {
  let options
  try {
    options = parseStartOptions(process.argv.slice(2), process.env)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(error.message)
    return 2
  }
  if (options === 'help') {
    console.log(HELP)
    return 0
  }
  checkPlatform()
  await ensureDependencies({ dev: false })
  return await runCluster({ ...options, startedMsAgo: performance.now() - startedAt })
})
