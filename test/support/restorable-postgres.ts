import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Client } from 'pg'
import { postgresUser } from '#scripts/servers/postgres-user.ts'
import { startLocalPostgres } from './local-servers.ts'
import { scratchFolder } from './run-folder.ts'

export type RestorablePostgres = {
  url: string
  /** Makes a base backup of the running server. */
  backUp(): Promise<void>
  /** Names this moment, and waits until the log up to this moment is in the archive. */
  markPoint(name: string): Promise<void>
  /**
   * Kills the server (kill -9) and deletes all its data. Then restores the base backup and the archived log up to the
   * named moment.
   */
  destroyAndRestore(name: string): Promise<void>
  stop(): Promise<void>
}

/** Files of a running server that a backup does not need, or that the server removes while they are copied. */
const NOT_BACKED_UP = new Set([
  'pg_wal',
  'postmaster.pid',
  'postmaster.opts',
  'pg_internal.init',
  'pgsql_tmp',
])

/**
 * Starts a PostgreSQL that archives its write-ahead log. It is backed up by PostgreSQL's low-level interface
 * (Continuous Archiving, "Making a Base Backup Using the Low Level API"), because the PostgreSQL that `ensurePostgres`
 * installs has no pg_basebackup.
 */
export async function createRestorablePostgres(): Promise<RestorablePostgres> {
  const [archive, backup] = [scratchFolder('archive'), scratchFolder('backup')]
  give(archive)
  const archiving = { archive_mode: 'on', archive_command: `cp %p ${archive}/%f` }
  let folder = scratchFolder('postgres')
  let running = await startLocalPostgres(folder, { settings: archiving })
  const url = running.url('postgres')
  const port = Number(new URL(url).port)

  async function ask<Row>(text: string, values: unknown[] = []): Promise<Row | undefined> {
    const client = new Client({ connectionString: url })
    await client.connect()
    try {
      return (await client.query<Row & Record<string, unknown>>(text, values)).rows[0]
    } finally {
      await client.end()
    }
  }

  return {
    url,
    async backUp() {
      // The session that began a backup must end it.
      const client = new Client({ connectionString: url })
      await client.connect()
      await client.query("select pg_backup_start('test', true)")
      await cp(join(folder, 'data'), backup, {
        recursive: true,
        filter: (source) => !NOT_BACKED_UP.has(basename(source)),
      })
      const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop()')
      writeFileSync(join(backup, 'backup_label'), rows[0]?.labelfile ?? '')
      await client.end()
    },
    async markPoint(name) {
      await ask('select pg_create_restore_point($1)', [name])
      const segment = await ask<{ name: string }>('select pg_walfile_name(pg_switch_wal()) as name')
      const isArchived = async () => {
        const state = await ask<{ last_archived_wal: string | null }>(
          'select last_archived_wal from pg_stat_archiver',
        )
        return (state?.last_archived_wal ?? '') >= (segment?.name ?? '')
      }
      while (!(await isArchived()));
    },
    async destroyAndRestore(name) {
      await running.kill()
      rmSync(folder, { recursive: true })
      folder = scratchFolder('postgres')
      const data = join(folder, 'data')
      cpSync(backup, data, { recursive: true })
      mkdirSync(join(data, 'pg_wal'))
      writeFileSync(join(data, 'recovery.signal'), '')
      give(data)
      running = await startLocalPostgres(folder, {
        port,
        settings: {
          ...archiving,
          restore_command: `cp ${archive}/%f %p`,
          recovery_target_name: name,
          recovery_target_action: 'promote',
          // With this setting the server answers only once it accepts writes.
          hot_standby: 'off',
        },
      })
    },
    stop: () => running.stop(),
  }
}

/**
 * Makes the server's user the owner of the folder and everything in it, and denies access to other users, as PostgreSQL
 * requires.
 */
function give(folder: string): void {
  const user = postgresUser()
  if (user !== undefined) {
    const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path))
    for (const path of [folder, ...paths]) chownSync(path, user.uid, user.gid)
  }
  chmodSync(folder, 0o700)
}
