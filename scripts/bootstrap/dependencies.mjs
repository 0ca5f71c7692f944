import { spawn, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SetupError } from './fail.mjs'
import { keepSaying, say } from './progress.mjs'

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** The Node that everything of ours runs on: npm installs it with the dependencies. */
export const NODE = join(REPOSITORY, 'node_modules/.bin/node')

/** Refuses a platform on which nothing below can work. */
export function checkPlatform() {
  if (process.platform !== 'linux') {
    throw new SetupError(
      `Millrace runs on Linux; this is ${process.platform}. Use a container or a virtual machine.`,
    )
  }
  if (Number(process.versions.node.split('.')[0]) < 20) {
    throw new SetupError(`Node 20 or newer is needed to install Millrace; this is ${process.version}.`)
  }
}

/** Installs the dependencies with `npm ci` unless exactly those of the lock file are there. */
export async function ensureDependencies() {
  const reason = whyInstall()
  if (reason === undefined) return
  refuseForeignModules(reason)
  say(`installing the dependencies with npm ci (${reason}); the first time takes about a minute`)
  const done = keepSaying('installing the dependencies')
  const { code, output } = await npmCi()
  done()
  if (code !== 0) {
    const told = output
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('npm error'))
      .slice(0, 12)
      .join('\n')
    throw new SetupError(
      `npm ci failed (exit code ${code}), so the dependencies are not there.\n${told || output.trim()}`,
    )
  }
  const stillMissing = whyInstall()
  if (stillMissing !== undefined) {
    throw new SetupError(`npm ci ended well, but ${stillMissing}. Is "ignore-scripts" set in an .npmrc?`)
  }
  say('dependencies are installed')
}

/** npm ci empties node_modules first; through a link that would empty another checkout's, in use or not. */
function refuseForeignModules(reason) {
  const path = join(REPOSITORY, 'node_modules')
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return
  throw new SetupError(
    `node_modules is a link to ${realpathOf(path)} and does not fit this checkout (${reason}): remove the link, and npm start installs its own.`,
  )
}

function realpathOf(path) {
  try {
    return realpathSync(path)
  } catch {
    return 'a missing folder'
  }
}

/** Why the installed packages are not those of the lock file; undefined when they are. */
function whyInstall() {
  const installedPath = join(REPOSITORY, 'node_modules/.package-lock.json')
  if (!existsSync(installedPath)) return 'they are not installed yet'
  try {
    const wanted = JSON.parse(readFileSync(join(REPOSITORY, 'package-lock.json'), 'utf8')).packages
    const installed = JSON.parse(readFileSync(installedPath, 'utf8')).packages
    // Packages for other platforms are optional and absent; present ones must have the right version.
    const wrong = Object.entries(wanted).find(([path, entry]) => {
      if (path === '') return false
      return installed[path] === undefined
        ? entry.optional !== true
        : installed[path].version !== entry.version
    })
    if (wrong !== undefined) return `${wrong[0].replace('node_modules/', '')} differs from the lock file`
  } catch {
    return 'what is installed cannot be read'
  }
  const version = spawnSync(NODE, ['--version'], { encoding: 'utf8' }).stdout ?? ''
  return Number(/^v(\d+)/.exec(version)?.[1] ?? 0) >= 24
    ? undefined
    : 'the Node 24 of the dependencies does not run'
}

async function npmCi() {
  const npm = process.env.npm_execpath
  const args = ['ci', '--loglevel=error', '--no-progress']
  const [command, commandArgs] = npm?.endsWith('.js') ? [process.execPath, [npm, ...args]] : ['npm', args]
  const child = spawn(command, commandArgs, { cwd: REPOSITORY, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (output += chunk))
  return await new Promise((resolve, reject) => {
    child.once('error', () =>
      reject(new SetupError('npm is not on the PATH, so the dependencies cannot be installed.')),
    )
    child.once('close', (code, signal) => resolve({ code: code ?? signal, output }))
  })
}
