import { setTimeout as sleep } from 'node:timers/promises'
import { callbackify } from 'node:util'
import { DatabaseError, Pool, types, type ClientConfig, type PoolClient } from 'pg'
import { ConfigError } from '#libs/config/load-config.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { isDatabaseUnavailable, isReadOnly } from './database-errors.ts'
import { checkPooled, toPooledConfig } from './pooler.ts'
import { toRenewedTls } from './renewed-tls.ts'
import {
  correctSettings,
  listWrongSettings,
  readSession,
  toSessionOptions,
  whyReadOnly,
} from './session-settings.ts'

/** The type number of PostgreSQL's bigint. */
const INT8 = types.builtins.INT8

/**
 * The limit of a statement. Billing's statements take milliseconds; a statement that takes this long will not end by
 * itself.
 */
const STATEMENT_TIMEOUT_MS = 5_000

/**
 * The most connections: one for each batch in flight, one for the sweeper, and the rest for key look-ups and watches.
 */
const MAX_CONNECTIONS = 10

/** The limits of a pool; default: `MONEY_BOUNDS`. */
export type PoolBounds = { readonly connections: number; readonly statementMs: number }

export const MONEY_BOUNDS: PoolBounds = { connections: MAX_CONNECTIONS, statementMs: STATEMENT_TIMEOUT_MS }

/** The role under which the service works. `sql/roles.sql` grants its rights. */
export const SERVICE_ROLE = 'millrace_service'

/**
 * Settings of every connection to billing's database: `SESSION_SETTINGS`, and limits that keep statements and forgotten
 * transactions from holding locks or snapshots for long. A bigint arrives as BigInt, because numbers would round money.
 * If `role` is given, the connection works under this role from its first statement on, or the connection fails.
 */
export function connectionConfig(
  url: string,
  role?: string,
  statementMs = STATEMENT_TIMEOUT_MS,
): ClientConfig {
  return {
    connectionString: withOptions(url, toSessionOptions(role)),
    application_name: 'millrace-billing',
    connectionTimeoutMillis: 2_000,
    keepAlive: true,
    statement_timeout: statementMs,
    // The server's own limit does not help when the server is unreachable.
    query_timeout: statementMs + 1_000,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    types: {
      getTypeParser: (type, format) => (type === INT8 ? BigInt : types.getTypeParser(type, format)),
    },
  }
}

/** Idle connections stay this long, because connecting and planning again would delay the first calls after a pause. */
const IDLE_MS = 10 * 60_000

const RETRY_MS = 500
const LOG_EVERY_MS = 5_000

/** The pooler between billing and PostgreSQL: none, or a pooler that assigns a connection for each transaction. */
export type Pooler = 'none' | 'transaction'

/**
 * Opens the pool and resolves when PostgreSQL accepts changes. While the database cannot be reached, is still starting
 * or is read-only, the function tries again, and calls `onWait` with the reason of each failed attempt. Throws an Error
 * after `waitMs`. Throws at once when waiting cannot help:
 * - a ConfigError when the login is not a member of `role`, when `role` does not exist, when the session has a wrong
 *   setting (`SESSION_SETTINGS`), or when the pooler lacks what billing needs;
 * - an Error when a certificate file that the URL names cannot be read.
 */
export async function openPool(options: {
  url: string
  /**
   * The role of the pool's connections; default: the user of the URL. Behind a pooler, the login itself must have this
   * role as its setting `role`.
   */
  role?: string
  /** Default: none. */
  pooler?: Pooler
  bounds?: PoolBounds
  log: Logger
  /** May be Infinity. */
  waitMs: number
  onWait?: (reason: string) => void
}): Promise<Pool> {
  const { url, role, pooler = 'none', bounds = MONEY_BOUNDS, log, waitMs, onWait } = options
  const { connections: max, statementMs } = bounds
  const needs = { role, statementMs, idleMs: STATEMENT_TIMEOUT_MS }
  const config = toRenewedTls(
    pooler === 'none'
      ? connectionConfig(url, role, statementMs)
      : toPooledConfig({ ...connectionConfig(url, undefined, statementMs), connectionString: url }),
    log,
  )
  const check = async (client: PoolClient) => {
    if (pooler === 'none') await checkDirect(client, role)
    else await checkPooled(client, needs)
  }
  const pool = new Pool({
    ...config,
    verify: callbackify(check),
    max,
    idleTimeoutMillis: IDLE_MS,
  })
  // The pool copies its options once and gives the copy to each new connection, so `ssl` must be a getter on the copy.
  Object.defineProperty(pool.options, 'ssl', { enumerable: true, get: () => config.ssl })
  // Only the message is logged, because the error has the whole connection as a property.
  pool.on('error', ({ message }) => log.warn({ reason: message }, 'idle database connection lost'))
  // The pool handles errors of idle connections only. When a connection in use is lost, its next query fails. Without a
  // listener, the connection's error event would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined))
  pool.on('release', (error) => {
    if (isReadOnly(error)) endIdle(pool)
  })
  const giveUpAtMs = performance.now() + waitMs
  let loggedMs = -Infinity
  for (;;) {
    try {
      await assertWritable(pool)
      return pool
    } catch (error) {
      const refusal = isUnreadableFile(error) ? error : toRefusal(error, url)
      if (refusal !== null) {
        await pool.end()
        throw refusal
      }
      onWait?.(error instanceof Error ? error.message : String(error))
      if (performance.now() >= giveUpAtMs) {
        await pool.end()
        throw new Error(`PostgreSQL at ${withoutPassword(url)} did not answer within ${waitMs} ms`, {
          cause: error,
        })
      }
      if (performance.now() - loggedMs >= LOG_EVERY_MS) {
        log.info({ reason: String(error) }, 'waiting for PostgreSQL')
        loggedMs = performance.now()
      }
      await sleep(RETRY_MS)
    }
  }
}

/**
 * Ends the connections of the pool that are idle now. Called when a session may not write. The pool's other sessions
 * may not write either, if they are on the same server or also began while the database was read-only. A new session
 * may be allowed to write, because the database may accept changes by now.
 */
export function endIdle(pool: Pool): void {
  for (let left = pool.idleCount; left > 0; left -= 1) {
    pool.connect().then(
      (client) => client.release(true),
      // The pool was ended, or the wait for a connection was too long. In both cases no idle connection is left to end.
      () => undefined,
    )
  }
}

/** Runs `work` in one transaction: committed when it resolves, rolled back when it throws. */
export async function inTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    return result
  } catch (error) {
    if (error instanceof Error && isDatabaseUnavailable(error)) broken = error
    await client.query('rollback').catch((rollbackError: unknown) => {
      broken ??= new Error('the connection could not roll back', { cause: rollbackError })
    })
    throw error
  } finally {
    // A connection in an unknown state, or to a server that accepts no changes, must not serve the next transaction.
    client.release(broken)
  }
}

/**
 * Adds options of the session to the URL. The server applies these options before the first statement, and the SQL
 * statement `reset` does not remove them. They override the options that the URL already has.
 */
function withOptions(url: string, options: string): string {
  const target = new URL(url)
  const others = target.searchParams.get('options') ?? ''
  target.searchParams.set('options', `${others} ${options}`.trim())
  return target.href
}

/**
 * Returns whether the error means that a file that the URL names, such as a certificate, cannot be read. `pg` reads
 * these files whenever it connects.
 */
function isUnreadableFile(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && ['open', 'read'].includes(String(error.syscall))
}

/**
 * Checks that a new connection works as `role` and has the settings that every session needs. The role and the settings
 * are sent as options of the session, and a pooler may drop these options. The connection would then have all rights
 * and all defaults of its login.
 */
async function checkDirect(client: PoolClient, role: string | undefined): Promise<void> {
  const session = await readSession(client, false)
  const left = await correctSettings(client, listWrongSettings(session))
  const problems = left.map(({ name, found, wanted }) => `has ${name} = ${found}, not ${wanted}`)
  if (role !== undefined && session.role !== role)
    problems.unshift(`works as ${session.role}, not as ${role}`)
  if (problems.length === 0) return
  throw new ConfigError([
    `the connection ${problems.join(' and ')}: behind a pooler set DATABASE_POOLER=transaction`,
  ])
}

/** Throws an Error while the database accepts no changes: billing has nothing to serve then. */
async function assertWritable(pool: Pool): Promise<void> {
  const client = await pool.connect()
  let isUseless = true
  try {
    const problem = whyReadOnly(await readSession(client, false))
    if (problem !== null) throw new Error(problem)
    isUseless = false
  } finally {
    client.release(isUseless)
  }
}

/** Returns a ConfigError if waiting does not help, and null for any other failure. */
function toRefusal(error: unknown, url: string): ConfigError | null {
  if (error instanceof ConfigError) return error
  if (!(error instanceof DatabaseError)) return null
  const place = `PostgreSQL at ${withoutPassword(url)}`
  // 22023: the role does not exist. 42501: the login is not a member of the role.
  if (error.code === '22023' || error.code === '42501') {
    return new ConfigError([`${place} refuses the login: ${error.message}`], {
      cause: error,
    })
  }
  if (error.message.startsWith('unsupported startup parameter')) {
    return new ConfigError(
      [`${place} is a pooler (${error.message}): set DATABASE_POOLER=transaction, or give a direct URL`],
      { cause: error },
    )
  }
  return null
}

function withoutPassword(url: string): string {
  const shown = new URL(url)
  shown.password = ''
  return shown.href
}
