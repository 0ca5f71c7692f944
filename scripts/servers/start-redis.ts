import { Redis } from 'ioredis'
import { startProcess, waitUntilReady, type RunningProcess } from './start-process.ts'

export type RedisServer = RunningProcess & { url: string }

/**
 * The settings that the queue Redis needs everywhere: queued work survives a restart (AOF) and is never evicted. There
 * are no snapshots, because the AOF contains all data.
 */
export const REDIS_SETTINGS: Readonly<Record<string, string>> = {
  appendonly: 'yes',
  appendfsync: 'everysec',
  save: '""',
  'maxmemory-policy': 'noeviction',
}

/** Starts a redis-server on loopback with its data in `directory`. Resolves when it answers. */
export async function startRedis(options: {
  binary: string
  directory: string
  port: number
  password: string
  logFile: string
  /** Settings that are added to REDIS_SETTINGS or replace some of them. */
  settings?: Readonly<Record<string, string>> | undefined
  /** Aborts a start that is still running. */
  signal?: AbortSignal | undefined
}): Promise<RedisServer> {
  const { directory, port, password } = options
  const settings = {
    ...REDIS_SETTINGS,
    ...options.settings,
    bind: '127.0.0.1',
    port: String(port),
    dir: directory,
    requirepass: password,
  }
  const running = await startProcess({
    name: 'redis',
    command: options.binary,
    // The configuration is sent on standard input, so that the password is in no process list.
    args: ['-'],
    input: Object.entries(settings)
      .map(([name, value]) => `${name} ${name === 'dir' ? JSON.stringify(value) : value}\n`)
      .join(''),
    cwd: directory,
    env: { PATH: process.env['PATH'] },
    logFile: options.logFile,
    stop: { signal: 'SIGTERM', graceMs: 10_000 },
  })
  const url = `redis://:${password}@127.0.0.1:${port}`
  await waitUntilReady(running, { probe: () => answers(url), limitMs: 60_000, signal: options.signal })
  return { ...running, url }
}

/**
 * Opens one connection and sends one PING. Resolves with true if the server serves requests, which it does not do while
 * it loads its data.
 */
async function answers(url: string): Promise<boolean> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, enableReadyCheck: false })
  redis.on('error', () => {})
  try {
    await redis.connect()
    return (await redis.ping()) === 'PONG'
  } catch {
    return false
  } finally {
    redis.disconnect()
  }
}
