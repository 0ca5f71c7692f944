import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseError, type Pool, type PoolClient } from 'pg'
import type { Logger } from '#libs/telemetry/logger.ts'
import { buildIndexes } from './build-indexes.ts'
import { createForeignError, listMissing, readApplied, SQL_FOLDER } from './missing-parts.ts'
import { readSchema, type SchemaPart, type SqlFile } from './read-schema.ts'

/** The number of the advisory lock: any number that nothing else in this database uses. */
const LOCK = 7_351_001

/** The longest time for the whole migration. Building an index on a big table takes minutes. */
const LIMIT_MS = 60 * 60 * 1000
const TURN_POLL_MS = 100

/**
 * A statement that waits for a table's lock makes later statements on the table wait behind it. So a migration waits
 * only this long, lets the other statements pass and tries again. The limit is shorter than PostgreSQL's
 * deadlock_timeout (1 s): if a migration and a money function wait for each other, the migration gives way.
 */
const LOCK_TIMEOUT_MS = 500
const LOCK_RETRY_MS = 1_000

/**
 * Brings the database to this version's schema while the earlier version goes on serving: runs the new files of
 * `sql/tables/`, each in a transaction of its own; builds the indexes, if their file has changed; then replaces
 * functions and grants in one transaction, if one of their files has changed. Replicas that start together do this one
 * after another.
 *
 * If a newer version has migrated the database, indexes, functions and grants stay as they are. Throws a ConfigError
 * when the database was made by an earlier checkout, which shows by a file of `sql/tables/` that has changed since it
 * was run. Throws an error when a file fails, and when a part cannot get a lock that it needs within `lockLimitMs`.
 */
export async function migrate(
  pool: Pool,
  log: Logger,
  options: { folder?: URL; lockLimitMs?: number } = {},
): Promise<void> {
  const { folder = SQL_FOLDER, lockLimitMs = 5 * 60 * 1000 } = options
  const schema = await readSchema(folder)
  const client = await pool.connect()
  try {
    await takeTurn(client, log)
    await client.query(`set statement_timeout = ${LIMIT_MS}`)
    await prepareList(client)
    const applied = await readApplied(client)
    for (const part of listMissing(schema, applied)) {
      await patiently(() => apply(client, part, schema.version), { name: part.name, lockLimitMs, log })
      log.info({ migration: part.name }, 'migrated')
    }
  } finally {
    // Closing the connection ends the session, and with it the advisory lock and the settings.
    client.release(true)
  }
}

/**
 * Takes the lock under which one process at a time migrates. Asks for it repeatedly instead of waiting inside
 * PostgreSQL: a statement that waits keeps its snapshot, and a concurrent index build waits for all older snapshots to
 * end.
 */
async function takeTurn(client: PoolClient, log: Logger): Promise<void> {
  const giveUpAtMs = performance.now() + LIMIT_MS
  for (let attempt = 1; ; attempt += 1) {
    const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [LOCK])
    if (rows[0]?.mine === true) return
    if (performance.now() >= giveUpAtMs) throw new Error('another replica has been migrating for an hour')
    if (attempt === 1) log.info('waiting for another replica to migrate')
    await sleep(TURN_POLL_MS)
  }
}

/**
 * Creates the table `schema_parts`, the list of the parts that were run. Throws a ConfigError if the database was made
 * by a version that did not have this table.
 */
async function prepareList(client: PoolClient): Promise<void> {
  const { rows: earlier } = await client.query("select where to_regclass('schema_migrations') is not null")
  if (earlier.length > 0) throw createForeignError('it has a table schema_migrations')
  await client.query(
    `create table if not exists schema_parts (
      name text primary key, sha256 text not null, version integer not null, applied_at timestamptz not null
    )`,
  )
}

/** Tries again while other sessions have locks that the part needs. */
async function patiently(
  run: () => Promise<void>,
  { name, lockLimitMs, log }: { name: string; lockLimitMs: number; log: Logger },
): Promise<void> {
  const giveUpAtMs = performance.now() + lockLimitMs
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if (!isLockConflict(error)) throw error
      if (performance.now() >= giveUpAtMs) {
        throw new Error(`migration ${name} found its tables locked by other sessions for too long`, {
          cause: error,
        })
      }
      log.warn({ migration: name, reason: String(error) }, 'migration gave way, trying again')
      await sleep(LOCK_RETRY_MS)
    }
  }
}

/** Returns whether a lock was not free in time or there was a deadlock. In both cases nothing was done. */
function isLockConflict(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '55P03' || error.code === '40P01')
}

async function apply(client: PoolClient, part: SchemaPart, version: number): Promise<void> {
  if (part.kind === 'indexes') {
    for (const file of part.files) {
      await buildIndexes(client, file, {
        lockTimeoutMs: LOCK_TIMEOUT_MS,
        run: (statement) => runFile(client, { name: file.name, text: statement }),
      })
    }
    await record(client, part, version)
    return
  }
  try {
    await client.query('begin')
    await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
    if (part.kind === 'functions') {
      // A function may call a function of a later file. So all files are run twice: without a check of the function
      // bodies, and then with the check. Their order does not matter, because all functions exist before the second
      // run.
      await client.query('set local check_function_bodies = off')
      for (const file of part.files) await runFile(client, file)
      await client.query('set local check_function_bodies = on')
    }
    for (const file of part.files) await runFile(client, file)
    await record(client, part, version)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

async function runFile(client: PoolClient, { name, text }: SqlFile): Promise<void> {
  // The client's own limit on a query, which is meant for money functions, would cut a migration short.
  const query = { text, query_timeout: LIMIT_MS }
  try {
    await client.query(query)
  } catch (error) {
    if (isLockConflict(error)) throw error
    throw new Error(`migration ${name} failed`, { cause: error })
  }
}

async function record(client: PoolClient, { name, sha256 }: SchemaPart, version: number): Promise<void> {
  await client.query(
    `insert into schema_parts (name, sha256, version, applied_at) values ($1, $2, $3, now())
     on conflict (name) do update set
       sha256 = excluded.sha256, version = excluded.version, applied_at = excluded.applied_at`,
    [name, sha256, version],
  )
}
