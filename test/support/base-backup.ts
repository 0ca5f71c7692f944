import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Client } from 'pg'
import { postgresUser } from '#scripts/servers/postgres-user.ts'

/** Files of a running server that are of no use in a backup, or that the server removes while they are copied. */
const NOT_BACKED_UP = new Set([
  'pg_wal',
  'postmaster.pid',
  'postmaster.opts',
  'pg_internal.init',
  'pgsql_tmp',
])

/**
 * Makes a base backup of a running PostgreSQL, without its write-ahead log. Uses PostgreSQL's low-level interface
 * (Continuous Archiving, "Making a Base Backup Using the Low Level API"), because the PostgreSQL that `ensurePostgres`
 * installs has no pg_basebackup. `to` is an empty folder, or does not exist yet.
 */
export async function copyRunningData(options: { url: string; from: string; to: string }): Promise<void> {
  const { url, from, to } = options
  // The session that began a backup must end it.
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query("select pg_backup_start('test', true)")
    await cp(from, to, { recursive: true, filter: (source) => !NOT_BACKED_UP.has(basename(source)) })
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
    writeFileSync(join(to, 'backup_label'), rows[0]?.labelfile ?? '')
    mkdirSync(join(to, 'pg_wal'))
  } finally {
    await client.end()
  }
}

/**
 * Makes the server's user the owner of the folder and its content, and closes the folder to other users, as PostgreSQL
 * requires.
 */
export function giveToPostgres(folder: string): void {
  const user = postgresUser()
  if (user !== undefined) {
    const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path))
    for (const path of [folder, ...paths]) chownSync(path, user.uid, user.gid)
  }
  chmodSync(folder, 0o700)
}
