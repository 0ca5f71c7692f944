import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { postgresUser } from '#scripts/servers/postgres-user.ts'
import { startProcess, waitUntilReady } from '#scripts/servers/start-process.ts'
import type { PgBouncerProgram } from './ensure-pgbouncer.ts'
import { freePort } from './free-port.ts'
import { scratchFolder } from './run-folder.ts'

export type TestPgBouncer = {
  /** Returns the URL of the same database, login and password through the pooler. */
  through(url: string): string
  stop(): Promise<void>
}

/** The settings of transaction mode. With them an unreachable server is reported within seconds, not minutes. */
const SETTINGS = {
  auth_type: 'scram-sha-256',
  pool_mode: 'transaction',
  max_prepared_statements: '200',
  default_pool_size: '20',
  max_client_conn: '500',
  query_wait_timeout: '5',
  server_connect_timeout: '2',
  server_login_retry: '1',
}

/**
 * Starts a PgBouncer in front of the server of `postgresUrl`, for these logins and their passwords, in transaction mode
 * unless `settings` change it. The test must stop it; if the test forgets this, PgBouncer ends with the test process.
 */
export async function startPgBouncer(options: {
  program: PgBouncerProgram
  postgresUrl: string
  logins: Readonly<Record<string, string>>
  settings?: Readonly<Record<string, string>>
}): Promise<TestPgBouncer> {
  const { program, postgresUrl, logins } = options
  const [server, port, folder] = [new URL(postgresUrl), await freePort(), scratchFolder('pgbouncer')]
  const users = join(folder, 'users.txt')
  const quote = (text: string) => `"${text.replaceAll('"', '""')}"`
  const entries = Object.entries(logins).map(([name, password]) => `${quote(name)} ${quote(password)}\n`)
  writeFileSync(users, entries.join(''), { mode: 0o644 })
  const settings = {
    ...SETTINGS,
    ...options.settings,
    auth_file: users,
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
  }
  const file = join(folder, 'pgbouncer.ini')
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`)
  writeFileSync(
    file,
    `[databases]\n* = host=${server.hostname} port=${server.port}\n[pgbouncer]\n${lines.join('')}`,
    { mode: 0o644 },
  )
  chmodSync(folder, 0o755)
  const running = await startProcess({
    name: 'pgbouncer',
    command: program.command,
    args: [...program.args, file],
    cwd: folder,
    env: { PATH: process.env['PATH'] },
    logFile: join(folder, 'pgbouncer.log'),
    // Like PostgreSQL, PgBouncer refuses to run as root.
    user: postgresUser(),
    // On SIGINT PgBouncer would wait for its clients.
    stop: { signal: 'SIGTERM', graceMs: 5_000 },
  })
  function through(url: string) {
    const target = new URL(url)
    target.host = `127.0.0.1:${port}`
    return target.href
  }
  const [login = ['', '']] = Object.entries(logins)
  const probe = new URL(through(postgresUrl))
  ;[probe.username, probe.password] = login
  await waitUntilReady(running, { probe: () => answers(probe.href), limitMs: 60_000, signal: undefined })
  return { through, stop: () => running.stop() }
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url })
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
