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
import { ensureValkey, ensureValkey8 } from './ensure-valkey.ts'
import { dataFolder } from './run-folder.ts'
import { until } from './until.ts'

const PASSWORD = 'test'
/** The tools folder of `npm start`. Tests and `npm start` share the programs in it. */
export const TOOLS = join(REPOSITORY, '.millrace/tools')

/** The major version of the PostgreSQL that the tests run on; default: the preferred one of this machine. */
export const POSTGRES_MAJOR_VARIABLE = 'MILLRACE_TEST_POSTGRES_MAJOR'

/**
 * Settings of a master and of its replica. With these settings a master sends its data to a new replica at once. By
 * default it first waits for 5 s, in case further replicas connect.
 */
export const REPLICATED = { masterauth: PASSWORD, 'repl-diskless-sync-delay': '0' }

/** Starts this machine's redis-server with its data in `folder`, on `port` or a free port. */
export async function startLocalRedis(
  folder: string,
  options: { port?: number; settings?: Readonly<Record<string, string>> } = {},
): Promise<RedisServer> {
  return await startRedis({
    binary: await ensureServer(),
    directory: folder,
    port: await openPort(options.port),
    password: PASSWORD,
    logFile: join(folder, 'redis.log'),
    settings: options.settings,
  })
}

/** If this variable is `valkey` or `valkey-8`, the Redis servers that tests start for themselves are Valkey. */
const SERVER_VARIABLE = 'MILLRACE_TEST_REDIS'

/** Returns whether these servers know TLS. PyPI's package of Valkey 9 is built without it. */
export const redisKnowsTls = (): boolean => process.env[SERVER_VARIABLE] !== 'valkey'

async function ensureServer(): Promise<string> {
  const wanted = process.env[SERVER_VARIABLE] ?? 'redis'
  if (wanted === 'redis') return await ensureRedisServer({ tools: TOOLS, say: console.error })
  if (wanted === 'valkey') return await ensureValkey(TOOLS)
  if (wanted === 'valkey-8') return await ensureValkey8(TOOLS)
  throw new Error(`${SERVER_VARIABLE} is ${wanted}: expected redis, valkey or valkey-8`)
}

/**
 * Starts this machine's PostgreSQL with its data in `folder`, on `port` or a free port. By default its data need not
 * survive a power cut (`throwaway` of `startPostgres`).
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
 * Waits until `port` is free and returns it. If `port` is undefined, returns a free port. The wait is needed because a
 * server may have forked a child process just before it was killed. This child has the port open too, and gives it up
 * only when it first gets a processor. On a busy machine that takes tens of milliseconds.
 */
async function openPort(port: number | undefined): Promise<number> {
  if (port === undefined) return await freePort()
  await until(async () => await isFree(port))
  return port
}

/**
 * Copies the data of a new PostgreSQL into `data.directory`. initdb makes these data only once in a run of the tests,
 * because it takes a second of processor time. If several processes make the data at the same time, the data that are
 * ready first are kept.
 */
async function copyPostgresData(data: Parameters<typeof makePostgresData>[0]): Promise<void> {
  const made = join(dataFolder(), 'postgres-data')
  if (!existsSync(made)) {
    const directory = join(mkdtempSync(`${made}-`), 'data')
    chmodSync(dirname(directory), 0o711)
    await makePostgresData({ ...data, directory })
    try {
      renameSync(directory, made)
    } catch {
      // Another process was faster.
    }
  }
  const draft = `${data.directory}.new`
  await promisify(execFile)('cp', ['--archive', made, draft])
  renameSync(draft, data.directory)
}
