// `npm run test:servers [-- PART OF A ROW'S NAME]`: tests on servers as operators may run them. Each row below is one
// run of Vitest with variables that choose the servers and their defaults. `npm test` runs a part of these tests on the
// servers that the machine has.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { runScript, SetupError } from './bootstrap/fail.mjs'
import { say } from './bootstrap/progress.mjs'
import { REPOSITORY } from './bootstrap/repository.mjs'
import { runTests } from './bootstrap/run-tests.mjs'

/**
 * All tests of billing except the tests behind PgBouncer, where billing refuses logins with other defaults than
 * PostgreSQL's.
 */
const BILLING = readdirSync(join(REPOSITORY, 'test/integration/billing'), { recursive: true })
  .filter((name) => name.endsWith('.test.ts') && !name.endsWith('pooler.test.ts'))
  .map((name) => `test/integration/billing/${name}`)

/** PostgreSQL of this version as a process. Each of its databases has the defaults of `HOSTILE_DEFAULTS`. */
const hostile = (major) => ({
  name: `PostgreSQL ${major} with hostile defaults`,
  env: { MILLRACE_TEST_POSTGRES_MAJOR: major, MILLRACE_TEST_HOSTILE_DEFAULTS: 'yes' },
  tests: BILLING,
})

/** Valkey in place of each Redis that a test starts for itself. */
const valkey = (major, server) => ({
  name: `Valkey ${major}`,
  env: { MILLRACE_TEST_REDIS: server },
  tests: ['test/integration/redis-modes'],
})

const ROWS = [
  hostile('15'),
  hostile('18'),
  valkey('8', 'valkey-8'),
  valkey('9', 'valkey'),
  { name: 'PostgreSQL with a standby that is promoted', env: {}, tests: ['--project', 'servers'] },
]

await runScript(async () => {
  checkPlatform()
  await ensureDependencies({ dev: true })
  const parts = process.argv.slice(2)
  const rows = ROWS.filter(({ name }) => parts.every((part) => name.includes(part)))
  if (rows.length === 0)
    throw new SetupError(`there is no such row: ${ROWS.map(({ name }) => name).join(', ')}`)
  const results = []
  for (const { name, env, tests } of rows) {
    say(name)
    Object.assign(process.env, env)
    const { passed, failed } = await runTests(tests)
    for (const variable of Object.keys(env)) delete process.env[variable]
    results.push({ name, passed, failed })
  }
  for (const { name, passed, failed } of results) console.log(`${name}: ${passed} passed, ${failed} failed`)
  return results.every(({ failed }) => failed === 0) ? 0 : 1
})
