import { execFile } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, expect, test } from 'vitest'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { scratchFolder } from '../support/run-folder.ts'

// Tests which `npm ci` the scripts run. The lock file is made up. A fake `npm` notes its arguments and copies the
// packages that the arguments ask for; a fake `node` does nothing.

const LOCK = {
  '': { name: 'millrace', version: '0.1.0' },
  'node_modules/needed': { version: '1.0.0' },
  'node_modules/of-tests': { version: '1.0.0', dev: true },
  'node_modules/of-both': { version: '1.0.0', devOptional: true },
  'node_modules/other-platform': { version: '1.0.0', optional: true },
}
type Packages = Record<string, { version: string; dev?: boolean }>

const CLUSTER_ONLY = 'ci --omit=dev --include=optional --loglevel=error --no-progress\n'
const EVERYTHING = 'ci --include=dev --include=optional --loglevel=error --no-progress\n'

let checkout: string

beforeEach(() => {
  checkout = scratchFolder('checkout')
  for (const name of ['scripts', 'models'])
    cpSync(join(REPOSITORY, name), join(checkout, name), { recursive: true })
  writeJson('package-lock.json', { packages: LOCK })
  writeProgram(
    'bin/npm',
    `echo "$*" >> '${checkout}/npm-calls'
mkdir -p node_modules/.bin
cp bin/node node_modules/.bin/node
case "$*" in *--omit=dev*) cp cluster.json node_modules/.package-lock.json ;; *) cp all.json node_modules/.package-lock.json ;; esac`,
  )
  writeProgram('bin/node', 'if [ "$1" = --version ]; then echo v24.0.0; fi')
  writeJson('cluster.json', { packages: select((path) => /needed|of-both/.test(path)) })
  writeJson('all.json', { packages: select((path) => /needed|of-/.test(path)) })
})

test('a start in a fresh checkout installs what a cluster needs', async () => {
  expect(await callsOf('start')).toBe(CLUSTER_ONLY)
})

test('a second start installs nothing', async () => {
  await callsOf('start')
  expect(await callsOf('start')).toBe('')
})

test('npm test installs the rest, and a start after it neither installs nor removes anything', async () => {
  await callsOf('start')
  expect(await callsOf('test')).toBe(EVERYTHING)
  expect(await callsOf('test')).toBe('')
  expect(await callsOf('start')).toBe('')
})

test('an outdated package that only tests need does not concern a start', async () => {
  await callsOf('test')
  writeLock({ 'node_modules/of-tests': { version: '1.0.1', dev: true } })
  expect(await callsOf('start')).toBe('')
  expect(await callsOf('test')).toBe(EVERYTHING)
})

test('a start renews an outdated full installation in full', async () => {
  await callsOf('test')
  writeLock({ 'node_modules/needed': { version: '1.0.1' } })
  expect(await callsOf('start')).toBe(EVERYTHING)
})

test('a start renews an outdated installation of its own kind', async () => {
  await callsOf('start')
  writeLock({ 'node_modules/needed': { version: '1.0.1' } })
  expect(await callsOf('start')).toBe(CLUSTER_ONLY)
})

test('an optional package of the wrong version is replaced', async () => {
  await callsOf('start')
  writeJson('node_modules/.package-lock.json', {
    packages: { ...LOCK, 'node_modules/other-platform': { version: '0.9.0', optional: true } },
  })
  expect(await callsOf('start')).toContain('ci')
})

/** Runs a script and returns the arguments with which it called npm. */
async function callsOf(script: string): Promise<string> {
  const log = join(checkout, 'npm-calls')
  rmSync(log, { force: true })
  const env = { PATH: `${join(checkout, 'bin')}:${process.env['PATH']}` }
  // `npm test` reports a failure, because the fake programs do nothing.
  await promisify(execFile)(process.execPath, [join(checkout, 'scripts', `${script}.mjs`)], { env }).catch(
    () => {},
  )
  return existsSync(log) ? readFileSync(log, 'utf8') : ''
}

function select(accept: (path: string) => boolean): Packages {
  return Object.fromEntries(Object.entries(LOCK).filter(([path]) => accept(path)))
}

function writeLock(changes: Packages): void {
  writeJson('package-lock.json', { packages: { ...LOCK, ...changes } })
}

function writeJson(path: string, value: object): void {
  writeFileSync(join(checkout, path), JSON.stringify(value))
}

function writeProgram(path: string, text: string): void {
  mkdirSync(join(checkout, 'bin'), { recursive: true })
  writeFileSync(join(checkout, path), `#!/bin/sh\n${text}\n`)
  chmodSync(join(checkout, path), 0o755)
}
