import { spawn, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { SetupError } from './fail.mjs'
import { keepSaying, say } from './progress.mjs'
import { ensureProtoTypes } from './proto-types.mjs'
import { NODE, REPOSITORY } from './repository.mjs'

/** Throws a SetupError on a platform that Millrace does not support. */
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

/**
 * Installs the packages of the lock file with `npm ci`, unless they are installed already, and generates proto/types/.
 *
 * With `{ dev: false }` it needs only the packages of a running cluster. If all packages are installed, they stay. The
 * types are then generated only after an installation, because no cluster needs them.
 */
export async function ensureDependencies({ dev }) {
  const reason = whyInstall({ dev })
  if (reason !== undefined) await install(reason, { dev })
  if (dev || reason !== undefined) await ensureProtoTypes()
}

async function install(reason, { dev }) {
  refuseForeignModules(reason)
  // An outdated installation with all packages is replaced by one with all packages; otherwise the next `npm test`
  // would install them again.
  const all = dev || hasDevPackages()
  say(
    all
      ? `installing all dependencies with npm ci (${reason}); the first time takes one to two minutes`
      : `installing the dependencies of a cluster with npm ci (${reason}); the first time takes about half a minute`,
  )
  const done = keepSaying('installing the dependencies')
  const { code, output } = await npmCi({ dev: all })
  done()
  if (code !== 0) {
    const errors = output
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('npm error'))
      .slice(0, 12)
      .join('\n')
    throw new SetupError(
      `npm ci failed (exit code ${code}), so the dependencies are not installed.\n${errors || output.trim()}`,
    )
  }
  const stillMissing = whyInstall({ dev })
  if (stillMissing !== undefined) throw new SetupError(`npm ci succeeded, but ${stillMissing}.`)
  say('dependencies are installed')
}

/**
 * Throws a SetupError if node_modules is a link: npm ci empties node_modules first, and through a link it would empty
 * the folder of another checkout.
 */
function refuseForeignModules(reason) {
  const path = join(REPOSITORY, 'node_modules')
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return
  throw new SetupError(
    `node_modules is a link to ${realpathOf(path)} and does not fit this checkout (${reason}): remove the link and start again.`,
  )
}

function realpathOf(path) {
  try {
    return realpathSync(path)
  } catch {
    return 'a missing folder'
  }
}

/** Returns why the installed packages differ from the lock file; undefined if they agree. */
function whyInstall({ dev }) {
  try {
    const installed = readInstalled()
    if (installed === undefined) return 'they are not installed yet'
    const wanted = JSON.parse(readFileSync(join(REPOSITORY, 'package-lock.json'), 'utf8')).packages
    const wrong = Object.entries(wanted).find(([path, entry]) => {
      // Skips the repository itself, and packages that only development needs.
      if (path === '' || (!dev && (entry.dev === true || entry.devOptional === true))) return false
      // Packages for other platforms are optional and may be absent. Present packages must have the right version.
      return installed[path] === undefined
        ? entry.optional !== true
        : installed[path].version !== entry.version
    })
    if (wrong !== undefined) return describe(wrong[0], installed)
  } catch {
    return 'the list of installed packages cannot be read'
  }
  const version = spawnSync(NODE, ['--version'], { encoding: 'utf8' }).stdout ?? ''
  return Number(/^v(\d+)/.exec(version)?.[1] ?? 0) >= 24
    ? undefined
    : 'the Node 24 of the dependencies does not run'
}

function describe(path, installed) {
  const name = path.replace('node_modules/', '')
  return installed[path] === undefined ? `${name} is missing` : `${name} differs from the lock file`
}

/** Returns the packages in node_modules by path, as npm listed them after its last run; undefined if there are none. */
function readInstalled() {
  const path = join(REPOSITORY, 'node_modules/.package-lock.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : undefined
}

function hasDevPackages() {
  try {
    return Object.values(readInstalled() ?? {}).some((entry) => entry.dev === true)
  } catch {
    return false
  }
}

async function npmCi({ dev }) {
  const npm = process.env.npm_execpath
  // The groups are named explicitly, because NODE_ENV or a user's .npmrc may omit groups.
  const groups = [dev ? '--include=dev' : '--omit=dev', '--include=optional']
  const args = ['ci', ...groups, '--loglevel=error', '--no-progress']
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
