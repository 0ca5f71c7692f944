import { scratchFolder } from './run-folder.ts'
import { startLocalRedis } from './local-servers.ts'
import { REDIS_URL_VARIABLE, sharedUrl } from './shared-servers.ts'

export type TestRedis = {
  url: string
  pid(): number
  /** Shuts it down; its data are kept for `start`. */
  stop(): Promise<void>
  /** kill -9. */
  kill(): Promise<void>
  /** Runs it again after `stop` or `kill`, with the same URL and data. */
  start(): Promise<void>
  /** For SIGSTOP and SIGCONT: a server that accepts connections but does not answer. */
  signal(signal: NodeJS.Signals): void
}

/** The URL of the one Redis that all tests share: use key prefixes or model names of your own, never flush it. */
export function sharedRedis(): string {
  return sharedUrl(REDIS_URL_VARIABLE)
}

/**
 * A Redis of its own for a test that stops it, starves it or has workers in the background. Always a local
 * process, never a container, because such tests send signals. The test stops it; a forgotten one ends with
 * the test process.
 */
export async function createRedis(settings: Readonly<Record<string, string>> = {}): Promise<TestRedis> {
  const folder = scratchFolder('redis')
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
