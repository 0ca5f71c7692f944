import { scratchData } from './run-folder.ts'
import { startLocalRedis } from './local-servers.ts'
import { REDIS_URL_VARIABLE, sharedUrl } from './shared-servers.ts'

export type TestRedis = {
  url: string
  pid(): number
  /** Shuts the server down. Its data are kept for `start`. */
  stop(): Promise<void>
  /** Kills the server (kill -9). */
  kill(): Promise<void>
  /** Starts the server again after `stop` or `kill`, with the same URL and data. */
  start(): Promise<void>
  /** Sends a signal, such as SIGSTOP and SIGCONT for a server that accepts connections but does not answer. */
  signal(signal: NodeJS.Signals): void
}

/**
 * Returns the URL of the one Redis that all tests share. A test uses its own key prefixes or model names, and never
 * flushes this Redis.
 */
export function sharedRedis(): string {
  return sharedUrl(REDIS_URL_VARIABLE)
}

/**
 * Starts a separate Redis for a test that stops its server, fills its memory or has workers in the background. It is
 * always a local process, because such tests send signals. The test must stop it at its end; if the test forgets this,
 * the server ends with the test process.
 */
export async function createRedis(settings: Readonly<Record<string, string>> = {}): Promise<TestRedis> {
  const folder = scratchData('redis')
  let running = await startLocalRedis(folder, { settings })
  const port = Number(new URL(running.url).port)
  return {
    url: running.url,
    pid: () => running.pid,
    stop: () => running.stop(),
    kill: () => running.kill(),
    signal: (signal) => running.signal(signal),
    async start() {
      await running.stop()
      running = await startLocalRedis(folder, { port, settings })
    },
  }
}
