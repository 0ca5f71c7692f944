import { execFile } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findExecutable } from '#scripts/servers/find-executable.ts'
import { lastErrorLine } from '#scripts/servers/last-error-line.ts'
import { TOOLS } from './local-servers.ts'

const run = promisify(execFile)

/** A program with the arguments that come before its own. */
export type PgBouncerProgram = { readonly command: string; readonly args: readonly string[] }

/** PgBouncer 1.21 is the first version that keeps named statements apart in transaction mode. */
const OLDEST = [1, 21] as const

/** A Debian release with this version, and its packages for PgBouncer and the libraries. */
const RELEASE = 'trixie'
const PACKAGES = [
  'pgbouncer',
  'libaudit1',
  'libc6',
  'libcap-ng0',
  'libcap2',
  'libcares2',
  'libevent-2.1-7t64',
  'libpam0g',
  'libssl3t64',
  'libsystemd0',
  'libzstd1',
  'zlib1g',
]
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

/**
 * Returns PgBouncer 1.21 or later: from the PATH, else one that an earlier call downloaded into the tools folder, else
 * from a Debian release. The Debian packages are unpacked in that folder with their libraries, so PgBouncer also runs
 * on a system that is older than that release. If none of these can be used, returns the reason.
 */
export async function ensurePgBouncer(): Promise<PgBouncerProgram | { readonly missing: string }> {
  const found = findExecutable('pgbouncer')
  if (found !== undefined && (await isNewEnough({ command: found, args: [] })))
    return { command: found, args: [] }
  const folder = join(TOOLS, `pgbouncer-${RELEASE}`)
  const needs = ['apt-get', 'dpkg-deb'].filter((name) => findExecutable(name) === undefined)
  if (!existsSync(folder) && needs.length > 0) {
    return { missing: `there is no PgBouncer 1.21 or later, and no ${needs.join(' and ')} to fetch it` }
  }
  try {
    if (!existsSync(folder)) await fetch(folder)
    const program = toProgram(folder)
    if (await isNewEnough(program)) return program
    return { missing: `the PgBouncer in ${folder} does not run` }
  } catch (error) {
    return {
      missing: `there is no PgBouncer 1.21 or later, and it cannot be fetched: ${lastErrorLine(error)}`,
    }
  }
}

async function isNewEnough({ command, args }: PgBouncerProgram): Promise<boolean> {
  const { stdout } = await run(command, [...args, '--version']).catch(() => ({ stdout: '' }))
  const [, major = 0, minor = 0] = (/^PgBouncer (\d+)\.(\d+)/.exec(stdout) ?? []).map(Number)
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])
}

/**
 * Unpacks PgBouncer into a temporary folder and renames that to `folder`, so that an interrupted download leaves
 * nothing.
 */
async function fetch(folder: string): Promise<void> {
  mkdirSync(TOOLS, { recursive: true })
  const draft = mkdtempSync(join(TOOLS, 'pgbouncer-draft-'))
  try {
    const apt = writeAptFolder(join(draft, 'apt'))
    const options = { cwd: apt.packages, timeout: 180_000, env: { ...process.env, APT_CONFIG: apt.config } }
    await run('apt-get', ['update', '-q'], options)
    await run('apt-get', ['download', '-q', ...PACKAGES], options)
    const root = join(draft, 'root')
    for (const name of readdirSync(apt.packages)) await run('dpkg-deb', ['-x', name, root], options)
    // All users may read the folder, because PgBouncer runs as another user if this process is root.
    chmodSync(root, 0o755)
    moveTo(folder, root)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

function moveTo(folder: string, root: string): void {
  try {
    renameSync(root, folder)
  } catch (error) {
    // Another process has downloaded it meanwhile.
    if (!existsSync(folder)) throw error
  }
}

/** Writes a configuration for an apt that knows only the release, and does not change the machine's own lists. */
function writeAptFolder(folder: string): { config: string; packages: string } {
  const packages = join(folder, 'packages')
  for (const name of ['lists/partial', 'cache/archives/partial', 'packages']) {
    mkdirSync(join(folder, name), { recursive: true })
  }
  writeFileSync(join(folder, 'status'), '')
  writeFileSync(
    join(folder, 'sources.list'),
    `deb [signed-by=${KEYRING}] http://deb.debian.org/debian ${RELEASE} main\n`,
  )
  const config = join(folder, 'apt.conf')
  const settings = {
    'Dir::Etc::sourcelist': join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': join(folder, 'cache'),
    // By default apt downloads as a user who cannot enter this folder.
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
    'Acquire::http::Timeout': '20',
    'Acquire::Retries': '0',
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} ${JSON.stringify(value)};\n`)
  writeFileSync(config, lines.join(''))
  return { config, packages }
}

/** Returns the command that runs the unpacked program with the loader and the libraries of its release. */
function toProgram(folder: string): PgBouncerProgram {
  const triplet = readdirSync(join(folder, 'usr/lib')).find((name) => name.endsWith('-linux-gnu'))
  const libraries = join(folder, 'usr/lib', triplet ?? '')
  const loader = readdirSync(libraries).find((name) => name.startsWith('ld-linux'))
  if (loader === undefined) throw new Error(`${libraries} has no loader`)
  return {
    command: join(libraries, loader),
    args: ['--library-path', libraries, join(folder, 'usr/sbin/pgbouncer')],
  }
}
