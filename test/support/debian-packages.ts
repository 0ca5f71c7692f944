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
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A Debian release whose programs are newer than those of the systems on which the tests run. */
export const RELEASE = 'trixie'

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** A program with the arguments that come before its own. */
export type UnpackedProgram = { readonly command: string; readonly args: readonly string[] }

/**
 * Downloads the packages `names` of the Debian release, and unpacks them in a temporary folder. Then moves the unpacked
 * files to `folder`, so that an interrupted download never leaves an incomplete `folder`. A program of these packages
 * runs on any Linux system if `names` includes the packages of all its libraries. Needs apt-get and dpkg-deb.
 */
export async function unpackDebianPackages(folder: string, names: readonly string[]): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true })
  const draft = mkdtempSync(`${folder}-draft-`)
  try {
    const apt = writeAptFolder(join(draft, 'apt'))
    const options = { cwd: apt.packages, timeout: 180_000, env: { ...process.env, APT_CONFIG: apt.config } }
    await run('apt-get', ['update', '-q'], options)
    await run('apt-get', ['download', '-q', ...names], options)
    const root = join(draft, 'root')
    for (const name of readdirSync(apt.packages)) await run('dpkg-deb', ['-x', name, root], options)
    // All users may read the folder, because a server runs as another user if this process is root.
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

/** Returns the command that runs an unpacked program with the loader and the libraries of its release. */
export function toUnpackedProgram(folder: string, program: string): UnpackedProgram {
  const triplet = readdirSync(join(folder, 'usr/lib')).find((name) => name.endsWith('-linux-gnu'))
  const libraries = join(folder, 'usr/lib', triplet ?? '')
  const loader = readdirSync(libraries).find((name) => name.startsWith('ld-linux'))
  if (loader === undefined) throw new Error(`${libraries} has no loader`)
  return {
    command: join(libraries, loader),
    args: ['--library-path', libraries, join(folder, program)],
  }
}
