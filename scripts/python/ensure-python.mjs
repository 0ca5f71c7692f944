import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { REPOSITORY } from '../bootstrap/repository.mjs'
import { SetupError } from '../bootstrap/fail.mjs'
import { say } from '../bootstrap/progress.mjs'

/**
 * The Python environments and their packages. The folder names begin with a dot, because a cluster ignores such names
 * when it checks its state folder.
 */
const ENVIRONMENTS = {
  clients: { folder: '.millrace/.python', requirements: 'test/python/requirements.txt' },
  agents: { folder: '.millrace/.python-agents', requirements: 'test/python/agents/requirements.txt' },
  evaluation: {
    folder: '.millrace/.python-evaluation',
    requirements: 'test/python/evaluation/requirements.txt',
  },
  references: {
    folder: '.millrace/.python-references',
    requirements: 'scripts/python/references/requirements.txt',
  },
}

/**
 * Returns the folder of a Python environment's programs. The environment is made once, and again when its requirements
 * change. Throws a SetupError without Python.
 *
 * @param {keyof typeof ENVIRONMENTS} name
 */
export function ensurePython(name) {
  const folder = join(REPOSITORY, ENVIRONMENTS[name].folder)
  const requirements = join(REPOSITORY, ENVIRONMENTS[name].requirements)
  const programs = join(folder, 'bin')
  const wanted = readFileSync(requirements, 'utf8')
  const installed = join(folder, 'installed.txt')
  if (existsSync(installed) && readFileSync(installed, 'utf8') === wanted) return programs
  const python = findPython()
  say(`making a Python environment in ${ENVIRONMENTS[name].folder}; this takes about a minute`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  run(python, ['-m', 'venv', folder])
  run(join(programs, 'python'), ['-m', 'pip', 'install', '--quiet', '--requirement', requirements])
  writeFileSync(installed, wanted)
  return programs
}

function findPython() {
  const isNewEnough = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))'
  const python = ['python3', 'python'].find((name) => spawnSync(name, ['-c', isNewEnough]).status === 0)
  if (python !== undefined) return python
  throw new SetupError(
    'This needs Python 3.10 or newer with venv and pip on the PATH (Debian: apt-get install python3-venv).',
  )
}

function run(command, args) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status === 0) return
  const output = `${stdout ?? ''}${stderr ?? ''}`.trim().split('\n').slice(-12).join('\n')
  throw new SetupError(`${command} ${args.slice(0, 3).join(' ')} failed (exit code ${status}):\n${output}`)
}
