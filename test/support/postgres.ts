import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Client } from 'pg'
import { startLocalPostgres } from './local-servers.ts'
import { scratchData } from './run-folder.ts'
import { POSTGRES_URL_VARIABLE, sharedUrl } from './shared-servers.ts'

export type TestDatabase = { url: string; drop(): Promise<void> }

export type TestPostgres = {
  /** Returns the superuser's URL of a database on this server. */
  url(database: string): string
  pid(): number
  /** Shuts the server down. Committed data are kept for `start`. */
  stop(): Promise<void>
  /**
   * Kills the server (kill -9) and its sessions, because each session is a separate process group and could still
   * answer.
   */
  kill(): Promise<void>
  /** Starts the server again after `stop` or `kill`, with the same URL and data. */
  start(): Promise<void>
}

/**
 * Defaults that the owner of a database may have set, and on which billing must not depend. `alter database` and `alter
 * role` accept all of them.
 */
export const HOSTILE_DEFAULTS: Readonly<Record<string, string>> = {
  client_encoding: 'LATIN1',
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Pacific/Chatham',
  timezone_abbreviations: 'Australia',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  array_nulls: 'off',
  standard_conforming_strings: 'off',
  quote_all_identifiers: 'on',
  search_path: 'elsewhere',
  transform_null_equals: 'on',
  'plpgsql.extra_errors': 'all',
  row_security: 'on',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  lock_timeout: '1ms',
  statement_timeout: '1ms',
  idle_in_transaction_session_timeout: '1ms',
  exit_on_error: 'on',
  plan_cache_mode: 'force_custom_plan',
  jit: 'on',
  jit_above_cost: '0',
  enable_indexscan: 'off',
  synchronous_commit: 'off',
  client_min_messages: 'debug1',
}

/** If this variable is `yes`, every database of the tests has the hostile defaults. `npm run test:servers` sets it. */
const HOSTILE_VARIABLE = 'MILLRACE_TEST_HOSTILE_DEFAULTS'

/**
 * Sets the hostile defaults of `target`, which is `database NAME` or `role NAME` of the shared server, for sessions
 * that begin later.
 */
export async function setHostileDefaults(target: string): Promise<void> {
  const settings = Object.entries(HOSTILE_DEFAULTS).map(
    ([name, value]) => `alter ${target} set ${name} = '${value}'`,
  )
  // Only newer servers have this limit. It is long enough for a session to remove it.
  const limit = `do $$ begin
    if current_setting('transaction_timeout', true) is not null then
      alter ${target} set transaction_timeout = '20s';
    end if; end $$`
  await execute(sharedUrl(POSTGRES_URL_VARIABLE), [...settings, limit].join('; '))
}

/** Creates an empty database on the server that all tests share. `drop` also ends the database's open sessions. */
export async function createDatabase(): Promise<TestDatabase> {
  return await copyDatabase('template1')
}

/**
 * Creates a database on the shared server as a copy of the database `template`, to which no session may be connected.
 */
export async function copyDatabase(template: string): Promise<TestDatabase> {
  const server = sharedUrl(POSTGRES_URL_VARIABLE)
  const name = `test_${randomUUID().replaceAll('-', '')}`
  // Copying the files takes two thirds of the time of writing them through the log.
  await execute(server, `create database ${name} template ${template} strategy file_copy`)
  if (process.env[HOSTILE_VARIABLE] === 'yes') await setHostileDefaults(`database ${name}`)
  return {
    url: databaseUrl(name),
    drop: () => execute(server, `drop database if exists ${name} with (force)`),
  }
}

/**
 * Creates the database `name` on the shared server and calls `fill` with its URL, unless the database exists. If
 * several test processes call this function at the same time, they run it one after another. `fill` must leave no
 * session open.
 */
export async function ensureDatabase(name: string, fill: (url: string) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: sharedUrl(POSTGRES_URL_VARIABLE) })
  await client.connect()
  try {
    await client.query('select pg_advisory_lock(hashtext($1))', [name])
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
    if (rowCount !== 0) return
    const draft = `${name}_draft`
    await client.query(`drop database if exists ${draft} with (force)`)
    await client.query(`create database ${draft}`)
    await fill(databaseUrl(draft))
    await client.query(`alter database ${draft} rename to ${name}`)
  } finally {
    await client.end()
  }
}

function databaseUrl(name: string): string {
  const url = new URL(sharedUrl(POSTGRES_URL_VARIABLE))
  url.pathname = name
  return url.href
}

/**
 * Starts a separate PostgreSQL for a test that stops or kills its server. The server is always a local process. The
 * test must stop this server in the end; if the test forgets this, the server ends with the test process.
 */
export async function createPostgres(settings: Readonly<Record<string, string>> = {}): Promise<TestPostgres> {
  const folder = scratchData('postgres')
  let running = await startLocalPostgres(folder, { settings })
  const url = (database: string) => running.url(database)
  const port = Number(new URL(url('postgres')).port)
  return {
    url,
    pid: () => running.pid,
    stop: () => running.stop(),
    kill: () => endWithSessions(running),
    async start() {
      await running.stop()
      running = await startLocalPostgres(folder, { port, settings })
    },
  }
}

/** Kills (kill -9) a server and its sessions, each of which is a separate process group. */
export async function endWithSessions(server: Awaited<ReturnType<typeof startLocalPostgres>>): Promise<void> {
  // While the server is stopped by this signal, it starts no sessions.
  server.signal('SIGSTOP')
  const sessions = childrenOf(server.pid)
  await server.kill()
  for (const pid of sessions) endNow(pid)
}

function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return children === '' ? [] : children.split(' ').map(Number)
}

function endNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The session ended together with its parent.
  }
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
