import { execFile } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import type { PostgresBinaries } from './find-postgres.ts'
import { startProcess, waitUntilReady, type ProcessUser, type RunningProcess } from './start-process.ts'

export type PostgresServer = RunningProcess & {
  /** Returns the connection URL of a database on this server, for its superuser. */
  url(database: string): string
}

/** The settings that differ from PostgreSQL's defaults, in `npm start` and in the tests. */
export const POSTGRES_SETTINGS: Readonly<Record<string, string>> = {
  max_connections: '200',
}

const SUPERUSER = 'millrace'

/**
 * Starts PostgreSQL on loopback with its data in `directory`, where initdb makes them if there are none. Resolves when
 * PostgreSQL answers. If this process is root, PostgreSQL runs as `user`, because it refuses to run as root.
 */
export async function startPostgres(options: {
  binaries: PostgresBinaries
  directory: string
  port: number
  password: string
  logFile: string
  /** Aborts a start that is still running. */
  signal?: AbortSignal | undefined
  user?: ProcessUser | undefined
  /**
   * True if the data need not survive a power cut: nothing is flushed from the kernel to the disk. The data survive
   * kill -9.
   */
  throwaway: boolean
  /** Settings in addition to POSTGRES_SETTINGS. */
  settings?: Readonly<Record<string, string>> | undefined
}): Promise<PostgresServer> {
  const { binaries, directory, port, password, throwaway } = options
  if (!existsSync(join(directory, 'PG_VERSION'))) await makePostgresData(options)
  const settings = {
    ...POSTGRES_SETTINGS,
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    ...(throwaway ? { fsync: 'off', full_page_writes: 'off' } : {}),
    ...options.settings,
  }
  const running = await startProcess({
    name: 'postgres',
    command: binaries.postgres,
    args: [
      '-D',
      directory,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    cwd: directory,
    env: POSTGRES_ENVIRONMENT,
    logFile: options.logFile,
    user: options.user,
    // SIGINT is PostgreSQL's fast shutdown, which ends all sessions. On SIGTERM it would wait for clients to leave.
    stop: { signal: 'SIGINT', graceMs: 20_000 },
  })
  const url = (database: string) => `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`
  await waitUntilReady(running, {
    probe: () => answers(url('postgres')),
    limitMs: 60_000,
    signal: options.signal,
  })
  return { ...running, url }
}

/** The environment of PostgreSQL. Its messages are in English, because our own messages quote them. */
const POSTGRES_ENVIRONMENT = { PATH: process.env['PATH'], LC_ALL: 'C' }

/**
 * Makes the data in a temporary folder, and renames it to the final folder at the end, so that an interrupted initdb
 * leaves no data.
 */
export async function makePostgresData(
  options: Pick<
    Parameters<typeof startPostgres>[0],
    'binaries' | 'directory' | 'password' | 'user' | 'throwaway'
  >,
): Promise<void> {
  const { binaries, directory, password, user } = options
  const draft = `${directory}.new`
  const passwordFile = `${directory}.password`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { recursive: true, mode: 0o700 })
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 })
  try {
    for (const path of [draft, passwordFile]) if (user !== undefined) chownSync(path, user.uid, user.gid)
    await promisify(execFile)(
      binaries.initdb,
      initArguments(draft, passwordFile).concat(options.throwaway ? ['--no-sync'] : []),
      { cwd: draft, env: POSTGRES_ENVIRONMENT, ...user },
    )
    renameSync(draft, directory)
  } finally {
    rmSync(passwordFile, { force: true })
  }
}

function initArguments(directory: string, passwordFile: string): string[] {
  const access = ['-U', SUPERUSER, '--auth=scram-sha-256', `--pwfile=${passwordFile}`]
  return ['-D', directory, '--encoding=UTF8', '--locale=C', ...access]
}

/** Opens one connection. Resolves with true if the server takes queries. */
async function answers(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
