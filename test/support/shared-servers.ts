import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers'
import { POSTGRES_SETTINGS } from '#scripts/servers/start-postgres.ts'
import { REDIS_SETTINGS } from '#scripts/servers/start-redis.ts'
import { POSTGRES_MAJOR_VARIABLE, startLocalPostgres, startLocalRedis } from './local-servers.ts'
import { scratchData } from './run-folder.ts'
import { startTogether } from './start-together.ts'

export const REDIS_URL_VARIABLE = 'MILLRACE_TEST_REDIS_URL'
export const POSTGRES_URL_VARIABLE = 'MILLRACE_TEST_POSTGRES_URL'

/**
 * If the variable is `yes`, a test run fails when its servers cannot run as containers. `npm run test:containers` sets
 * the variable.
 */
const MUST_USE_CONTAINERS_VARIABLE = 'MILLRACE_TEST_MUST_USE_CONTAINERS'

type SharedServers = { redisUrl: string; postgresUrl: string; stop(): Promise<void> }

const IMAGES = { redis: 'redis:7', postgres: 'postgres:18' }

/** Returns the URL that the global set-up stored in `variable` for the test processes. */
export function sharedUrl(variable: string): string {
  const url = process.env[variable]
  if (url === undefined) throw new Error(`${variable} is not set: this test's project has no global set-up`)
  return url
}

/**
 * Starts one Redis and one PostgreSQL for all tests of a run, either as processes or as containers:
 * - If `POSTGRES_MAJOR_VARIABLE` demands a version of PostgreSQL, they are processes.
 * - Otherwise, if `MUST_USE_CONTAINERS_VARIABLE` is `yes`, they are containers. The function rejects if no Docker
 *   engine answers, or if the containers do not start.
 * - Otherwise they are containers if a Docker engine answers and the containers start; else they are processes. If the
 *   Docker engine answers but the containers do not start, for example because the engine has no images and cannot get
 *   them, `say` receives a line with the reason.
 */
export async function startSharedServers(
  say: (line: string) => void = console.error,
): Promise<SharedServers> {
  const mustUseContainers = process.env[MUST_USE_CONTAINERS_VARIABLE] === 'yes'
  const mustUseProcesses = process.env[POSTGRES_MAJOR_VARIABLE] !== undefined
  if (mustUseProcesses || (!mustUseContainers && !(await hasDocker()))) return await startProcesses()
  try {
    return await startContainers()
  } catch (error) {
    if (mustUseContainers) throw error
    say(`Redis and PostgreSQL run as processes, because containers do not start: ${firstLine(error)}`)
    return await startProcesses()
  }
}

/** Starts Redis and PostgreSQL as containers. If one of them does not start, the other is removed. */
export async function startContainers(images = IMAGES): Promise<SharedServers> {
  const [redis, postgres] = await startTogether([startRedis(images.redis), startPostgres(images.postgres)])
  return {
    redisUrl: `redis://${redis.getHost()}:${redis.getMappedPort(6379)}`,
    postgresUrl: `postgres://millrace:test@${postgres.getHost()}:${postgres.getMappedPort(5432)}/postgres`,
    stop: async () => void (await Promise.all([redis.stop(), postgres.stop()])),
  }
}

async function hasDocker(): Promise<boolean> {
  try {
    await getContainerRuntimeClient()
    return true
  } catch {
    return false
  }
}

async function startProcesses(): Promise<SharedServers> {
  const [redis, postgres] = await startTogether([
    startLocalRedis(scratchData('redis')),
    startLocalPostgres(scratchData('postgres')),
  ])
  return {
    redisUrl: redis.url,
    postgresUrl: postgres.url('postgres'),
    stop: async () => void (await Promise.all([redis.stop(), postgres.stop()])),
  }
}

async function startRedis(image: string) {
  return await new GenericContainer(image)
    .withCommand(['redis-server', ...flags(REDIS_SETTINGS, (name, value) => [`--${name}`, value])])
    .withExposedPorts(6379)
    .withWaitStrategy(Wait.forLogMessage('Ready to accept connections'))
    .start()
}

async function startPostgres(image: string) {
  return await new GenericContainer(image)
    .withEnvironment({ POSTGRES_USER: 'millrace', POSTGRES_PASSWORD: 'test' })
    .withCommand(['postgres', ...flags(POSTGRES_SETTINGS, (name, value) => ['-c', `${name}=${value}`])])
    .withExposedPorts(5432)
    // The image starts the server twice: first to initialize, then to serve.
    .withWaitStrategy(Wait.forLogMessage('database system is ready to accept connections', 2))
    .start()
}

function flags(
  settings: Readonly<Record<string, string>>,
  toFlag: (name: string, value: string) => string[],
): string[] {
  return Object.entries(settings).flatMap(([name, value]) => toFlag(name, value))
}

function firstLine(error: unknown): string {
  const [line = ''] = String(error instanceof Error ? error.message : error).split('\n')
  return line
}
