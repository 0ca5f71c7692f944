import { createHash } from 'node:crypto'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { PostgresBinaries } from '../servers/find-postgres.ts'
import { canUse, postgresUser } from '../servers/postgres-user.ts'
import type { Say } from '../servers/say.ts'
import { SetupError } from '../servers/setup-error.ts'
import type { ProcessUser } from '../servers/start-process.ts'

export type PostgresPlace = { binaries: PostgresBinaries; directory: string; user: ProcessUser | undefined }

/**
 * Decides which PostgreSQL runs, as which user, and in which folder its data are. Data of an earlier start stay where
 * they are. New data are in `home`/postgres. If PostgreSQL must not run as root and its user cannot reach `home` (for
 * example below /root), new data are in `elsewhere`/postgres.
 *
 * Existing data are never ignored in favour of an empty folder. Throws a SetupError if no installation has the version
 * of the data, or if no possible user of PostgreSQL may use them.
 */
export function placePostgres(options: {
  home: string
  /** The installations, the preferred one first, as `ensurePostgres` returns them. */
  installations: readonly PostgresBinaries[]
  say: Say
  elsewhere?: string
}): PostgresPlace {
  const { home, installations, say, elsewhere = folderElsewhere(home) } = options
  const usual = postgresUser()
  const [inside, outside] = [join(home, 'postgres/data'), join(elsewhere, 'postgres/data')]
  const reachable = canUse(usual, '-x', home)
  const places = reachable ? [inside, outside] : [outside, inside]
  const existing = places.find((place) => existsSync(place))
  const directory = existing ?? (reachable ? inside : outside)
  const user = existing === undefined ? usual : userOfData(existing, usual)
  if (directory === outside) {
    const reason = reachable ? 'an earlier start put them there' : `it cannot run as root nor reach ${home}`
    say(`PostgreSQL's data are in ${elsewhere}: ${reason}`)
  }
  mkdirSync(dirname(directory), { recursive: true, mode: 0o711 })
  const binaries = chooseBinaries(installations, directory)
  return { binaries: makeReachable({ binaries, user, elsewhere, say }), directory, user }
}

function folderElsewhere(home: string): string {
  return `/var/lib/millrace-${createHash('sha256').update(home).digest('hex').slice(0, 12)}`
}

/** Returns the owner of the data. Root can run PostgreSQL as any owner, not only as the `usual` user. */
function userOfData(directory: string, usual: ProcessUser | undefined): ProcessUser | undefined {
  const { uid, gid } = statSync(directory)
  const isUsable = usual === undefined ? uid === process.getuid?.() : uid !== 0
  if (!isUsable) {
    throw new SetupError(
      `The data in ${directory} belong to user ${uid}, but PostgreSQL would run as ${usual?.uid ?? process.getuid?.()}: start as the user who started before, or set MILLRACE_HOME to a new folder.`,
    )
  }
  const user = usual && { uid, gid }
  if (!canUse(user, '-x', directory)) {
    throw new SetupError(
      `The data in ${directory} belong to user ${uid}, who cannot reach them: let others pass through the folders above (chmod o+x), or set MILLRACE_HOME to a new folder.`,
    )
  }
  return user
}

/** Returns the preferred installation, or the one whose major version made the existing data. */
function chooseBinaries(installations: readonly PostgresBinaries[], directory: string): PostgresBinaries {
  const version = join(directory, 'PG_VERSION')
  if (existsSync(directory) && !existsSync(version)) {
    throw new SetupError(`${directory} contains files that are not a PostgreSQL database; move them away.`)
  }
  const major = existsSync(directory) ? Number(readFileSync(version, 'utf8')) : undefined
  const fitting = installations.find((binaries) => major === undefined || binaries.major === major)
  if (fitting !== undefined) return fitting
  const present = [...new Set(installations.map((binaries) => binaries.major))].join(' and ')
  throw new SetupError(
    `The data in ${directory} are of PostgreSQL ${major}, but this machine has ${present}: install PostgreSQL ${major}, or set MILLRACE_HOME to a new folder.`,
  )
}

/** Returns the binaries themselves, or a copy in a place where the user can run them. */
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
