import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ensurePostgres } from '#scripts/servers/ensure-postgres.ts'
import { ensureRedisServer } from '#scripts/servers/ensure-redis-server.ts'
import { freePort, isFree } from '#scripts/servers/free-port.ts'
import { canUse, postgresUser } from '#scripts/servers/postgres-user.ts'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { makePostgresData, startPostgres, type PostgresServer } from '#scripts/servers/start-postgres.ts'
import { startRedis, type RedisServer } from '#scripts/servers/start-redis.ts'
import { runFolder } from './run-folder.ts'
import { until } from './until.ts'

const PASSWORD = 'test'
/** The folder of `npm start`: programs that it fetched serve the tests, and the other way round. */
export const TOOLS = join(REPOSITORY, '.millrace/tools')

/** The major version of the PostgreSQL that the tests run on; default: the preferred one of this machine. */
export const POSTGRES_MAJOR_VARIABLE = 'MILLRACE_TEST_POSTGRES_MAJOR'

/** Settings of a master and of its replica. By default a master waits 5 s for further replicas before it sends its data. */
export const REPLICATED = { masterauth: PASSWORD, 'repl-diskless-sync-delay': '0' }

/** A redis-server of this machine with its data in `folder`, on `port` or a free one. */
export async function startLocalRedis(
  folder: string,
  options: { port?: number; settings?: Readonly<Record<string, string>> } = {},
): Promise<RedisServer> {
  return await startRedis({
    binary: await ensureRedisServer({ tools: TOOLS, say: console.error }),
    directory: folder,
    port: await openPort(options.port),
    password: PASSWORD,
    logFile: join(folder, 'redis.log'),
    settings: options.settings,
  })
}

/**
 * A PostgreSQL of this machine with its data in `folder`, on `port` or a free one. By default its data need
 * not survive a power cut: see `startPostgres`.
 */
export async function startLocalPostgres(
  folder: string,
  options: { port?: number; throwaway?: boolean; settings?: Readonly<Record<string, string>> } = {},
): Promise<PostgresServer> {
  const user = postgresUser()
  const wanted = process.env[POSTGRES_MAJOR_VARIABLE]
  const major = wanted === undefined ? undefined : Number(wanted)
  const installations = await ensurePostgres({ tools: TOOLS, say: console.error, major })
  const binaries = installations.find((found) => canUse(user, '-x', found.postgres))
  if (binaries === undefined)
    throw new Error(
      `user ${user?.uid} can run none of ${installations.map((found) => found.postgres).join(', ')}`,
    )
  const { throwaway = true, settings } = options
  const data = { binaries, directory: join(folder, 'data'), password: PASSWORD, user, throwaway }
  if (throwaway && !existsSync(data.directory)) await copyPostgresData(data)
  return await startPostgres({
    ...data,
    port: await openPort(options.port),
    logFile: join(folder, 'postgres.log'),
    settings,
  })
}

/**
 * `port` once it is free, or a new one. A process that a server had just forked when it was killed still listens, until it
 * runs for the first time: for tens of milliseconds on a busy machine.
 */
async function openPort(port: number | undefined): Promise<number> {
  if (port === undefined) return await freePort()
  await until(async () => await isFree(port))
  return port
}

/**
 * Copies data that were made once in this run: initdb takes a second of processor time. Several processes may make them
 * at first; those of one are kept.
 */
async function copyPostgresData(data: Parameters<typeof makePostgresData>[0]): Promise<void> {
  const made = join(runFolder(), 'postgres-data')
  if (!existsSync(made)) {
    const directory = join(mkdtempSync(`${made}-`), 'data')
    chmodSync(dirname(directory), 0o711)
    await makePostgresData({ ...data, directory })
    try {
      renameSync(directory, made)
    } catch {
      // Another process was first.
    }
  }
  const draft = `${data.directory}.new`
  await promisify(execFile)('cp', ['--archive', made, draft])
  renameSync(draft, data.directory)
}
