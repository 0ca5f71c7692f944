// `npm run test:containers`: builds the image and runs deploy/compose.yaml on the Docker engine of this machine, then
// runs the integration tests with Redis and PostgreSQL as containers. Arguments are Vitest's, for the integration
// tests, for example `npm run test:containers -- test/integration/billing`. Started containers are removed, also after
// a Ctrl-C.
import { spawnSync } from 'node:child_process'
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { REPOSITORY } from './bootstrap/repository.mjs'
import { runScript, SetupError } from './bootstrap/fail.mjs'
import { say } from './bootstrap/progress.mjs'
import { runTests } from './bootstrap/run-tests.mjs'

/** The Compose project of the tests, and the name of its image. */
const PROJECT = `millrace-test-${process.pid}`

const total = { passed: 0, failed: 0 }
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => (interrupted = true))

await runScript(async () => {
  checkPlatform()
  checkEngine()
  await ensureDependencies({ dev: true })
  process.env.MILLRACE_TEST_PROJECT = PROJECT
  process.env.MILLRACE_TEST_MUST_USE_CONTAINERS = 'yes'
  try {
    await run('the image and deploy/compose.yaml; the build takes minutes', ['--project', 'containers'])
  } finally {
    remove()
  }
  await run('the integration tests, with containers', ['--project', 'integration*', ...process.argv.slice(2)])
  console.log(`${total.passed} passed, ${total.failed} failed`)
  return total.failed === 0 ? 0 : 1
})

async function run(name, options) {
  if (interrupted) throw new SetupError('interrupted')
  say(name)
  const { passed, failed } = await runTests(options)
  total.passed += passed
  total.failed += failed
}

/** Throws a SetupError unless a Docker engine answers that can build and run deploy/. */
function checkEngine() {
  // Docker Engine 25 has version 1.44 of the API.
  const [major, minor] = ask(['version', '--format', '{{.Server.APIVersion}}']).split('.').map(Number)
  if (major === 1 && minor < 44) {
    throw new SetupError('npm run test:containers needs Docker Engine 25 or later: this one is older.')
  }
  ask(['compose', 'version'])
  ask(['buildx', 'version'])
}

function ask(args) {
  const { output, problem } = docker(args)
  if (problem === undefined) return output
  throw new SetupError(`npm run test:containers needs a Docker engine with Compose and Buildx: ${problem}`)
}

function remove() {
  const down = ['down', '--volumes', '--remove-orphans', '--timeout', '5']
  const problems = [
    docker(['compose', '--file', 'deploy/compose.yaml', '--project-name', PROJECT, ...down]).problem,
    // Without an image there is nothing to remove: the build has failed.
    docker(['images', '--quiet', PROJECT]).output && docker(['image', 'rm', PROJECT]).problem,
  ]
  for (const problem of problems) if (problem) console.error(`not removed: ${problem}`)
}

/** Runs `docker`. Returns its standard output and, if it failed, one line with the reason. */
function docker(args) {
  const options = { cwd: REPOSITORY, encoding: 'utf8', timeout: 120_000 }
  const { error, status, stdout, stderr } = spawnSync('docker', args, options)
  const output = (stdout ?? '').trim()
  if (status === 0) return { output }
  // Compose indents its progress, so the reason is the first line without an indent.
  const reason = error?.message ?? stderr.split('\n').find((line) => /^\S/.test(line))
  return { output, problem: `docker ${args.join(' ')} failed: ${reason}` }
}
