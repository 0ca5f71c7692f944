import { createHash } from 'node:crypto'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findPostgres, type PostgresBinaries } from '../servers/find-postgres.ts'
import { canUse, postgresUser } from '../servers/postgres-user.ts'
import type { Say } from '../servers/say.ts'
import { SetupError } from '../servers/setup-error.ts'
import type { ProcessUser } from '../servers/start-process.ts'

export type PostgresPlace = { binaries: PostgresBinaries; directory: string; user: ProcessUser | undefined }

/**
 * Decides which PostgreSQL runs, as whom, and where its data are: `home`/postgres, or below /var/lib when the
 * user that PostgreSQL needs instead of root cannot reach `home` (say, below /root). Throws a SetupError when
 * there is no PostgreSQL, or when the data were made by a version that is not here.
 */
export function placePostgres(home: string, say: Say): PostgresPlace {
  const user = postgresUser()
  const elsewhere = `/var/lib/millrace-${createHash('sha256').update(home).digest('hex').slice(0, 12)}`
  const reachable = canUse(user, '-x', home)
  if (!reachable) say(`PostgreSQL cannot run as root nor reach ${home}; its data are in ${elsewhere}`)
  const directory = join(reachable ? home : elsewhere, 'postgres/data')
  mkdirSync(dirname(directory), { recursive: true, mode: 0o711 })
  if (existsSync(directory)) checkOwner(directory, user)
  const binaries = chooseBinaries(directory)
  return { binaries: makeReachable({ binaries, user, elsewhere, say }), directory, user }
}

function checkOwner(directory: string, user: ProcessUser | undefined): void {
  const owner = statSync(directory).uid
  const expected = user?.uid ?? process.getuid?.()
  if (owner !== expected) {
    throw new SetupError(
      `The data in ${directory} belong to user ${owner}, but PostgreSQL would run as ${expected}.`,
    )
  }
}

/** The preferred installation, or the one whose major version made the data that are already there. */
function chooseBinaries(directory: string): PostgresBinaries {
  const found = findPostgres()
  const newest = found[0]
  if (newest === undefined) {
    throw new SetupError(
      'No PostgreSQL 15 or newer is on this machine, nor in node_modules: install postgresql.',
    )
  }
  if (!existsSync(directory)) return newest
  if (!existsSync(join(directory, 'PG_VERSION'))) {
    throw new SetupError(`${directory} holds files that are not a PostgreSQL database; move them away.`)
  }
  const major = Number(readFileSync(join(directory, 'PG_VERSION'), 'utf8'))
  const fitting = found.find((binaries) => binaries.major === major)
  if (fitting === undefined) {
    const present = [...new Set(found.map((binaries) => binaries.major))].join(' and ')
    throw new SetupError(
      `The data in ${directory} are of PostgreSQL ${major}, but this machine has ${present}: install PostgreSQL ${major}, or set MILLRACE_HOME to a new folder.`,
    )
  }
  return fitting
}

/** The binaries themselves, or a copy where the user can run them. */
function makeReachable(options: {
  binaries: PostgresBinaries
  user: ProcessUser | undefined
  elsewhere: string
  say: Say
}): PostgresBinaries {
  const { binaries, user, elsewhere, say } = options
  if (canUse(user, '-x', binaries.postgres)) return binaries
  const copy = join(elsewhere, `postgresql-${binaries.major}`)
  if (!existsSync(copy)) {
    say(
      `copying PostgreSQL's programs to ${copy}, because its user cannot reach ${dirname(binaries.postgres)}`,
    )
    mkdirSync(elsewhere, { recursive: true, mode: 0o711 })
    cpSync(join(dirname(binaries.postgres), '..'), `${copy}.new`, { recursive: true, verbatimSymlinks: true })
    chmodSync(`${copy}.new`, 0o755)
    renameSync(`${copy}.new`, copy)
  }
  return { ...binaries, initdb: join(copy, 'bin/initdb'), postgres: join(copy, 'bin/postgres') }
}
