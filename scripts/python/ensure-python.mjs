import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { REPOSITORY } from '../bootstrap/dependencies.mjs'
import { SetupError } from '../bootstrap/fail.mjs'
import { say } from '../bootstrap/progress.mjs'

const REQUIREMENTS = join(REPOSITORY, 'test/python/requirements.txt')
/** The dot keeps it out of the way of the cluster whose state folder this is. */
const FOLDER = join(REPOSITORY, '.millrace/.python')

/**
 * The folder of a Python environment's programs, with the packages of test/python/requirements.txt: made once,
 * made anew when that file changes. Throws a SetupError where there is no Python.
 */
export function ensurePython() {
  const programs = join(FOLDER, 'bin')
  const wanted = readFileSync(REQUIREMENTS, 'utf8')
  const installed = join(FOLDER, 'installed.txt')
  if (existsSync(installed) && readFileSync(installed, 'utf8') === wanted) return programs
  const python = findPython()
  say('making a Python environment in .millrace/.python; this takes about a minute')
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  run(python, ['-m', 'venv', FOLDER])
  run(join(programs, 'python'), ['-m', 'pip', 'install', '--quiet', '--requirement', REQUIREMENTS])
  writeFileSync(installed, wanted)
  return programs
}

function findPython() {
  const isNewEnough = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))'
  const python = ['python3', 'python'].find((name) => spawnSync(name, ['-c', isNewEnough]).status === 0)
  if (python !== undefined) return python
  throw new SetupError(
    'These tests need Python 3.10 or newer with venv and pip on the PATH (Debian: apt-get install python3-venv).',
  )
}

function run(command, args) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status === 0) return
  const told = `${stdout ?? ''}${stderr ?? ''}`.trim().split('\n').slice(-12).join('\n')
  throw new SetupError(`${command} ${args.slice(0, 3).join(' ')} failed (exit code ${status}):\n${told}`)
}
