import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Client } from 'pg'
import { startLocalPostgres } from './local-servers.ts'
import { scratchFolder } from './run-folder.ts'
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
  return {
    url: databaseUrl(name),
    drop: () => execute(server, `drop database if exists ${name} with (force)`),
  }
}

/**
 * Creates the database `name` on the shared server and calls `fill` with its URL, unless the database exists. Test
 * processes that call this at the same time take turns. `fill` must leave no session open.
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
 * Starts a separate PostgreSQL for a test that stops it. It is always a local process. The test stops it; a forgotten
 * one ends with the test process.
 */
export async function createPostgres(settings: Readonly<Record<string, string>> = {}): Promise<TestPostgres> {
  const folder = scratchFolder('postgres')
  let running = await startLocalPostgres(folder, { settings })
  const url = (database: string) => running.url(database)
  const port = Number(new URL(url('postgres')).port)
  return {
    url,
    pid: () => running.pid,
    stop: () => running.stop(),
    async kill() {
      // A stopped (SIGSTOP) server starts no sessions.
      running.signal('SIGSTOP')
      const sessions = childrenOf(running.pid)
      await running.kill()
      for (const pid of sessions) endNow(pid)
    },
    async start() {
      await running.stop()
      running = await startLocalPostgres(folder, { port, settings })
    },
  }
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
