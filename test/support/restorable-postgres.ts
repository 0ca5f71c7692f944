import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { copyRunningData, giveToPostgres } from './base-backup.ts'
import { startLocalPostgres } from './local-servers.ts'
import { scratchData, scratchFolder } from './run-folder.ts'

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

/** Starts a PostgreSQL that archives its write-ahead log. */
export async function createRestorablePostgres(): Promise<RestorablePostgres> {
  const [archive, backup] = [scratchFolder('archive'), scratchFolder('backup')]
  giveToPostgres(archive)
  const archiving = { archive_mode: 'on', archive_command: `cp %p ${archive}/%f` }
  let folder = scratchData('postgres')
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
      await copyRunningData({ url, from: join(folder, 'data'), to: backup })
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
      folder = scratchData('postgres')
      const data = join(folder, 'data')
      cpSync(backup, data, { recursive: true })
      writeFileSync(join(data, 'recovery.signal'), '')
      giveToPostgres(data)
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
