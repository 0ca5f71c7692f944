import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseError, type Pool, type PoolClient } from 'pg'
import type { Logger } from '#libs/telemetry/logger.ts'
import { buildIndexes, isIndexFile } from './build-indexes.ts'

const FOLDER = new URL('../sql/', import.meta.url)

/** Any number that nothing else in this database uses. */
const LOCK = 7_351_001

/** A file's first word is its place: `0007-reserve.sql`. */
const FILE_NAME = /^(\d{4})-[a-z0-9-]+\.sql$/

/** For all files together. Building an index on a big table takes minutes. */
const LIMIT_MS = 60 * 60 * 1000
const TURN_POLL_MS = 100

/**
 * Whoever waits for a table's lock makes everybody after him wait too. So a migration waits this long and then lets
 * the others pass before it tries again. Shorter than PostgreSQL's deadlock_timeout (1 s): where a migration and a
 * money function wait for each other, it is the migration that gives way.
 */
const LOCK_TIMEOUT_MS = 500
const LOCK_RETRY_MS = 1_000

export type MigrationFile = {
  readonly version: number
  readonly name: string
  readonly sha256: string
  readonly text: string
}

/**
 * Brings the database to this version's schema: runs the files of `sql/` that it has not seen, in their order, each in
 * a transaction of its own, while the version before goes on serving. Replicas that start together take turns. A file
 * that was run may not change any more: this throws when one has. Files that only the database knows belong to a newer
 * version and are left alone.
 *
 * Rules for files, so that they never stop money for long: what reads a whole table holds no lock that writers need (a
 * constraint is added `not valid` and validated by a later file); indexes on tables that are in use are built
 * `concurrently`, in a file of nothing else.
 */
export async function migrate(
  pool: Pool,
  log: Logger,
  options: { folder?: URL; lockLimitMs?: number } = {},
): Promise<void> {
  const { folder = FOLDER, lockLimitMs = 5 * 60 * 1000 } = options
  const files = await readFiles(folder)
  const client = await pool.connect()
  try {
    await takeTurn(client, log)
    const applied = await readApplied(client)
    for (const file of files) {
      const known = applied.get(file.version)
      if (known === file.sha256) continue
      if (known !== undefined) throw new Error(`${file.name} has changed since it was run on this database`)
      await patiently(() => apply(client, file), { file, lockLimitMs, log })
      log.info({ migration: file.name }, 'migrated')
    }
  } finally {
    // The session ends, and with it its turn and its settings.
    client.release(true)
  }
}

async function readFiles(folder: URL): Promise<MigrationFile[]> {
  const names = (await readdir(folder)).sort()
  const files = await Promise.all(
    names.map(async (name) => {
      const version = FILE_NAME.exec(name)?.[1]
      if (version === undefined) throw new Error(`${name} is not a migration's name`)
      const text = await readFile(new URL(name, folder), 'utf8')
      return { version: Number(version), name, text, sha256: createHash('sha256').update(text).digest('hex') }
    }),
  )
  if (new Set(files.map((file) => file.version)).size !== files.length) {
    throw new Error('two migrations have the same number')
  }
  return files
}

/**
 * Asks again and again instead of waiting inside PostgreSQL: a statement that waits keeps its snapshot, and an index
 * that is built concurrently waits for every older snapshot to go.
 */
async function takeTurn(client: PoolClient, log: Logger): Promise<void> {
  const giveUpAtMs = Date.now() + LIMIT_MS
  for (let attempt = 1; ; attempt += 1) {
    const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [LOCK])
    if (rows[0]?.mine === true) return
    if (Date.now() >= giveUpAtMs) throw new Error('another replica has been migrating for an hour')
    if (attempt === 1) log.info('waiting for another replica to migrate')
    await sleep(TURN_POLL_MS)
  }
}

/** Version and hash of the files that were run. */
async function readApplied(client: PoolClient): Promise<ReadonlyMap<number, string>> {
  await client.query(`set statement_timeout = ${LIMIT_MS}`)
  await client.query(
    `create table if not exists schema_migrations (
      version integer primary key, name text not null, sha256 text not null, applied_at timestamptz not null default now()
    )`,
  )
  const { rows } = await client.query<{ version: number; sha256: string }>(
    'select version, sha256 from schema_migrations',
  )
  return new Map(rows.map((row) => [row.version, row.sha256]))
}

/** Tries again while other sessions hold what the file needs. */
async function patiently(
  run: () => Promise<void>,
  { file, lockLimitMs, log }: { file: MigrationFile; lockLimitMs: number; log: Logger },
): Promise<void> {
  const giveUpAtMs = Date.now() + lockLimitMs
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if (!isLockConflict(error)) throw new Error(`migration ${file.name} failed`, { cause: error })
      if (Date.now() >= giveUpAtMs) {
        throw new Error(`migration ${file.name} found its tables locked by other sessions for too long`, {
          cause: error,
        })
      }
      log.warn({ migration: file.name, reason: String(error) }, 'migration gave way, trying again')
      await sleep(LOCK_RETRY_MS)
    }
  }
}

/** Lock not available in time, or a deadlock: nothing was done. */
function isLockConflict(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '55P03' || error.code === '40P01')
}

async function apply(client: PoolClient, file: MigrationFile): Promise<void> {
  const run = async (text: string) => {
    // The client's own limit on a query, which is for money's, would cut a migration short.
    const query = { text, query_timeout: LIMIT_MS }
    await client.query(query)
  }
  if (isIndexFile(file.text)) {
    await buildIndexes(client, { name: file.name, text: file.text, run })
    await record(client, file)
    return
  }
  try {
    await client.query('begin')
    await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
    await run(file.text)
    await record(client, file)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

async function record(client: PoolClient, { version, name, sha256 }: MigrationFile): Promise<void> {
  await client.query('insert into schema_migrations (version, name, sha256) values ($1, $2, $3)', [
    version,
    name,
    sha256,
  ])
}
