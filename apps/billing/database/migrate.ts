import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { Pool, PoolClient } from 'pg'
import type { Logger } from '#libs/telemetry/logger.ts'
import { inTransaction } from './open-pool.ts'

const FOLDER = new URL('../sql/', import.meta.url)

/** Any number that nothing else in this database uses. */
const LOCK = 7_351_001

/** A file's first word is its place: `0007-reserve.sql`. */
const FILE_NAME = /^(\d{4})-[a-z0-9-]+\.sql$/

/**
 * Brings the database to this version's schema: runs the files of `sql/` that it has not seen, in their order, in
 * one transaction. Replicas that start together take turns. A file that was run may not change any more: this
 * throws when one has. Files that only the database knows belong to a newer version and are left alone.
 */
export async function migrate(pool: Pool, log: Logger): Promise<void> {
  const files = await readFiles()
  await inTransaction(pool, async (client) => {
    await client.query('set local statement_timeout = 0')
    await client.query('select pg_advisory_xact_lock($1)', [LOCK])
    await client.query(
      `create table if not exists schema_migrations (
        version integer primary key, name text not null, sha256 text not null, applied_at timestamptz not null default now()
      )`,
    )
    const { rows } = await client.query<{ version: number; sha256: string }>(
      'select version, sha256 from schema_migrations',
    )
    const applied = new Map(rows.map((row) => [row.version, row.sha256]))
    for (const file of files) {
      const known = applied.get(file.version)
      if (known === file.sha256) continue
      if (known !== undefined) throw new Error(`${file.name} has changed since it was run on this database`)
      await apply(client, file)
      log.info({ migration: file.name }, 'migrated')
    }
  })
}

type MigrationFile = { version: number; name: string; sha256: string; text: string }

async function readFiles(): Promise<MigrationFile[]> {
  const names = (await readdir(FOLDER)).sort()
  const files = await Promise.all(
    names.map(async (name) => {
      const version = FILE_NAME.exec(name)?.[1]
      if (version === undefined) throw new Error(`${name} is not a migration's name`)
      const text = await readFile(new URL(name, FOLDER), 'utf8')
      return { version: Number(version), name, text, sha256: createHash('sha256').update(text).digest('hex') }
    }),
  )
  if (new Set(files.map((file) => file.version)).size !== files.length) {
    throw new Error('two migrations have the same number')
  }
  return files
}

async function apply(client: PoolClient, { version, name, sha256, text }: MigrationFile): Promise<void> {
  try {
    await client.query(text)
  } catch (error) {
    throw new Error(`migration ${name} failed`, { cause: error })
  }
  await client.query('insert into schema_migrations (version, name, sha256) values ($1, $2, $3)', [
    version,
    name,
    sha256,
  ])
}
