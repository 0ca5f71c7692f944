import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers'
import { POSTGRES_SETTINGS } from '#scripts/servers/start-postgres.ts'
import { REDIS_SETTINGS } from '#scripts/servers/start-redis.ts'
import { startLocalPostgres, startLocalRedis } from './local-servers.ts'
import { scratchFolder } from './run-folder.ts'

export const REDIS_URL_VARIABLE = 'MILLRACE_TEST_REDIS_URL'
export const POSTGRES_URL_VARIABLE = 'MILLRACE_TEST_POSTGRES_URL'

type SharedServers = { redisUrl: string; postgresUrl: string; stop(): Promise<void> }

/** The URL that the global set-up left in `variable` for the test processes. */
export function sharedUrl(variable: string): string {
  const url = process.env[variable]
  if (url === undefined) throw new Error(`${variable} is not set: this test's project has no global set-up`)
  return url
}

/** One Redis and one PostgreSQL for a whole run: containers when a Docker engine answers, else processes. */
export async function startSharedServers(): Promise<SharedServers> {
  return (await hasDocker()) ? await startContainers() : await startProcesses()
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
  const [redis, postgres] = await Promise.all([
    startLocalRedis(scratchFolder('redis')),
    startLocalPostgres(scratchFolder('postgres')),
  ])
  return {
    redisUrl: redis.url,
    postgresUrl: postgres.url('postgres'),
    stop: async () => void (await Promise.all([redis.stop(), postgres.stop()])),
  }
}

async function startContainers(): Promise<SharedServers> {
  const [redis, postgres] = await Promise.all([
    new GenericContainer('redis:7')
      .withCommand(['redis-server', ...flags(REDIS_SETTINGS, (name, value) => [`--${name}`, value])])
      .withExposedPorts(6379)
      .withWaitStrategy(Wait.forLogMessage('Ready to accept connections'))
      .start(),
    new GenericContainer('postgres:18')
      .withEnvironment({ POSTGRES_USER: 'millrace', POSTGRES_PASSWORD: 'test' })
      .withCommand(['postgres', ...flags(POSTGRES_SETTINGS, (name, value) => ['-c', `${name}=${value}`])])
      .withExposedPorts(5432)
      // The image starts the server twice: once to initialize, once to serve.
      .withWaitStrategy(Wait.forLogMessage('database system is ready to accept connections', 2))
      .start(),
  ])
  return {
    redisUrl: `redis://${redis.getHost()}:${redis.getMappedPort(6379)}`,
    postgresUrl: `postgres://millrace:test@${postgres.getHost()}:${postgres.getMappedPort(5432)}/postgres`,
    stop: async () => void (await Promise.all([redis.stop(), postgres.stop()])),
  }
}

function flags(
  settings: Readonly<Record<string, string>>,
  toFlag: (name: string, value: string) => string[],
): string[] {
  return Object.entries(settings).flatMap(([name, value]) => toFlag(name, value))
}
