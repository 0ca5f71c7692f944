import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { REPOSITORY } from './repository.mjs'
import { say } from './progress.mjs'
import { runNodeQuietly } from './run-node.mjs'

const FOLDERS = ['apps', 'libs', 'test', 'scripts', 'bench']

const CACHE = join(REPOSITORY, 'node_modules/.cache/checks')

// TypeScript runs with one checker, because each further checker would read the same types again.
const TSC = ['node_modules/typescript/bin/tsc', '--checkers', '1']
const INCREMENTAL = ['--incremental', '--tsBuildInfoFile', join(CACHE, 'types.tsbuildinfo')]

const CHECKS = [
  { name: 'types', args: [...TSC, ...INCREMENTAL] },
  // Code for browsers, checked without the types of Node.
  { name: 'types of the console', args: [...TSC, '-p', 'apps/console/page'] },
  { name: 'types of the account page', args: [...TSC, '-p', 'apps/gateway/page'] },
  { name: 'lint', args: ['node_modules/oxlint/bin/oxlint', '--type-aware', ...FOLDERS] },
  { name: 'format', args: ['node_modules/oxfmt/bin/oxfmt', '--check', ...FOLDERS] },
  { name: 'dead code', args: ['node_modules/knip/bin/knip.js', '--no-progress'] },
]

const IMPORTS = {
  name: 'imports',
  args: [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'test/vitest.config.ts',
    '--project',
    'architecture',
  ],
}

/**
 * The environment of the checks. The compiler and the linter are Go programs. With one thread, and with a heap that may
 * grow to five times the memory in use, the compiler takes a third and the linter two thirds of the processor time that
 * it takes by default.
 */
const ENVIRONMENT = { GOMAXPROCS: '1', GOGC: '400' }

/**
 * Runs the checks, at most `lanes` at a time. Resolves with the names of the checks that passed and that failed. The
 * output of a check is printed when it fails. A check that passed on the same files is not run again.
 *
 * @returns {Promise<{ passed: string[]; failed: string[] }>}
 */
export async function runChecks({ imports, lanes }) {
  /** @type {{ passed: string[]; failed: string[] }} */
  const outcome = { passed: [], failed: [] }
  const waiting = imports ? [...CHECKS, IMPORTS] : [...CHECKS]
  const sources = hashSources([...FOLDERS, 'proto', 'deploy', 'docs', 'models'])
  await Promise.all(Array.from({ length: lanes }, runLane))
  return outcome

  async function runLane() {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      const isPassed = await runCheck(check, sources)
      outcome[isPassed ? 'passed' : 'failed'].push(check.name)
    }
  }
}

/** Runs one check. Resolves with true if it passed. */
async function runCheck({ name, args }, sources) {
  if (readPassed(name) === sources) {
    say(`check: ${name} passed before on these files`)
    return true
  }
  const startedAt = performance.now()
  const { code, output } = await runNodeQuietly(args, ENVIRONMENT)
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  if (code === 0) {
    say(`check: ${name} passed in ${seconds} s`)
    writePassed(name, sources)
    return true
  }
  say(`check: ${name} FAILED (exit code ${code})\n${output}`)
  return false
}

/**
 * Returns one hash of the names and contents of all files in these folders of the repository, and of the files at its
 * root.
 */
function hashSources(folders) {
  const hash = createHash('sha256')
  const root = readdirSync(REPOSITORY, { withFileTypes: true }).filter((entry) => entry.isFile())
  const files = [
    ...root.map(({ name }) => name),
    ...folders.flatMap((folder) =>
      readdirSync(join(REPOSITORY, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(REPOSITORY.length)),
    ),
  ]
  files.sort((left, right) => (left < right ? -1 : 1))
  for (const file of files) {
    const content = readFileSync(join(REPOSITORY, file))
    hash.update(`${file}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

/** Returns the hash of the files on which this check last passed; undefined if it has not passed yet. */
function readPassed(name) {
  try {
    return readFileSync(fileOf(name), 'utf8')
  } catch {
    return undefined
  }
}

function writePassed(name, hash) {
  mkdirSync(CACHE, { recursive: true })
  writeFileSync(fileOf(name), hash)
}

function fileOf(name) {
  return join(CACHE, `${name.replaceAll(' ', '-')}.sha256`)
}
