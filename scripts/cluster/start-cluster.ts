import { randomBytes } from 'node:crypto'
import { renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { ensurePostgres } from '../servers/ensure-postgres.ts'
import { ensureRedisServer } from '../servers/ensure-redis-server.ts'
import { freePort, reservePort } from '../servers/free-port.ts'
import type { Say } from '../servers/say.ts'
import { REPOSITORY, startApp } from '../servers/start-app.ts'
import { startPostgres } from '../servers/start-postgres.ts'
import { startRedis } from '../servers/start-redis.ts'
import type { ClusterOptions } from './cluster-options.ts'
import { CATALOG, planModels } from './demo-models.ts'
import { gatewayUrl } from './gateway-address.ts'
import { placePostgres } from './place-postgres.ts'
import type { ProcessList } from './process-list.ts'
import type { Secrets } from './secrets.ts'

const DATABASE = 'millrace'
const MODELS_DIR = join(REPOSITORY, 'models')
/** The drain time after a Ctrl-C. Answers that take longer are cut off, with an error for the caller. */
const DRAIN = { DRAIN_GRACE_MS: '5000' }
const LOG_KEPT_BYTES = 16 * 1024 * 1024

type Context = {
  options: ClusterOptions
  secrets: Secrets
  list: ProcessList
  say: Say
  signal: AbortSignal
  /** Aborts `signal`, so that other starts that are still running end early. */
  giveUp: (reason: unknown) => void
}

/**
 * Starts every part of the cluster, servers before their clients, and as many parts at once as that order allows. When
 * all parts are ready, resolves with the URLs of billing's admin interface and of the console. Each process is added to
 * `context.list` after its start. If this function rejects, the caller finds the processes to stop in that list.
 */
export async function startCluster(context: Context): Promise<{ adminUrl: string; consoleUrl: string }> {
  const { options, secrets } = context
  // The gateway starts last, so its port is reserved before any other part chooses a port.
  reservePort(options.port)
  const plan = await planModels(options.engine)
  const [redisUrl, databaseUrl] = await together(context, [
    startQueue(context),
    startDatabase(context),
    runApp(context, 'simulator', { env: { SIMULATOR_ENGINES: JSON.stringify(plan.engines), MODELS_DIR } }),
  ])
  const redisUrls = { QUEUE_REDIS_URL: redisUrl, BUS_REDIS_URL: redisUrl }
  const billingAddress = `127.0.0.1:${await freePort()}`
  const adminPort = await freePort()
  const adminUrl = `http://127.0.0.1:${adminPort}`
  const billingEnv = {
    DATABASE_URL: databaseUrl,
    QUEUE_REDIS_URL: redisUrl,
    GRPC_LISTEN: billingAddress,
    ADMIN_HOST: '127.0.0.1',
    ADMIN_PORT: String(adminPort),
    ADMIN_TOKEN: secrets.adminToken,
    RECEIPT_SECRETS: secrets.receiptSecret,
    CATALOG_FILE: CATALOG,
  }
  const workerEnv = { ...redisUrls, ...DRAIN, WORKERS: JSON.stringify(plan.workers), MODELS_DIR }
  await together(context, [
    runApp(context, 'billing', { env: billingEnv, addresses: { admin: adminUrl } }),
    runApp(context, 'worker', { env: workerEnv }),
  ])
  const gatewayEnv = {
    ...redisUrls,
    ...DRAIN,
    HOST: options.host,
    PORT: String(options.port),
    BILLING_ADDRESS: billingAddress,
    FALLBACK_CATALOG: CATALOG,
    // The bound is high, because the only account belongs to a developer or to a fuzzer.
    REFUSED_BODIES_PER_S: '1000',
  }
  const consolePort = await freePort()
  // A cookie is sent to all ports of a host name, so the console gets a host name that no other server on this machine
  // has.
  const consoleUrl = `http://${randomBytes(8).toString('hex')}.localhost:${consolePort}`
  const consoleEnv = {
    ...redisUrls,
    PORT: String(consolePort),
    CONSOLE_ORIGIN: consoleUrl,
    BILLING_ADMIN_URL: adminUrl,
  }
  // Not every program can resolve the host name of `consoleUrl`. Programs use the address `consolePrograms`, and a
  // bearer token instead of a cookie.
  const consoleAddresses = { console: consoleUrl, consolePrograms: `http://127.0.0.1:${consolePort}` }
  await together(context, [
    runApp(context, 'gateway', { env: gatewayEnv, addresses: { http: gatewayUrl(options) } }),
    runApp(context, 'console', { env: consoleEnv, addresses: consoleAddresses }),
  ])
  return { adminUrl, consoleUrl }
}

/** Resolves with the results of all `starts`. Rejects with the first failure, after the other starts have ended too. */
async function together<const Starts extends readonly Promise<unknown>[]>(
  context: Context,
  starts: Starts,
): Promise<{ -readonly [Index in keyof Starts]: Awaited<Starts[Index]> }> {
  try {
    return await Promise.all(starts)
  } catch (error) {
    context.giveUp(error)
    await Promise.allSettled(starts)
    throw error
  }
}

async function startQueue({ options, secrets, list, say, signal }: Context): Promise<string> {
  const { home } = options
  const binary = await ensureRedisServer({ tools: join(home, 'tools'), say, signal })
  const redis = await startRedis({
    binary,
    directory: join(home, 'redis'),
    port: await freePort(),
    password: secrets.redisPassword,
    logFile: logFile(home, 'redis'),
    signal,
  })
  list.add(redis, { redis: new URL(redis.url).host })
  say('Redis is ready')
  return redis.url
}

async function startDatabase({ options, secrets, list, say, signal }: Context): Promise<string> {
  const { home } = options
  const installations = await ensurePostgres({ tools: join(home, 'tools'), say, signal })
  const place = placePostgres({ home, installations, say })
  const postgres = await startPostgres({
    ...place,
    port: await freePort(),
    password: secrets.postgresPassword,
    logFile: logFile(home, 'postgres'),
    throwaway: false,
    signal,
  })
  list.add(postgres, { postgres: new URL(postgres.url(DATABASE)).host })
  await ensureDatabase(postgres.url('postgres'), DATABASE)
  say(`PostgreSQL ${place.binaries.major} is ready`)
  return postgres.url(DATABASE)
}

/** Creates the database unless it exists. `serverUrl` is the URL of any database of the same server. */
async function ensureDatabase(serverUrl: string, name: string): Promise<void> {
  const client = new Client({ connectionString: serverUrl })
  await client.connect()
  try {
    const found = await client.query('select 1 from pg_database where datname = $1', [name])
    if (found.rowCount === 0) await client.query(`create database ${client.escapeIdentifier(name)}`)
  } finally {
    await client.end()
  }
}

async function runApp(
  context: Context,
  app: string,
  { env, addresses = {} }: { env: Record<string, string>; addresses?: Record<string, string> },
): Promise<void> {
  const { options, list, say, signal } = context
  const started = await startApp({
    app,
    env: { ...env, LOG_LEVEL: options.logLevel },
    opsPort: await freePort(),
    logFile: logFile(options.home, app),
    readyLimitMs: 60_000,
    signal,
  })
  list.add(started, { ...addresses, ops: started.opsUrl })
  say(`${app} is ready`)
}

/** Returns the log file of a part. A large file of earlier starts is renamed to .old; one such file is kept. */
function logFile(home: string, name: string): string {
  const path = join(home, 'logs', `${name}.log`)
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > LOG_KEPT_BYTES) renameSync(path, `${path}.old`)
  return path
}
