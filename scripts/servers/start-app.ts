import { fileURLToPath } from 'node:url'
import { COMPILE_CACHE } from './compile-cache.ts'
import { startProcess, waitUntilReady, type RunningProcess } from './start-process.ts'

export type RunningApp = RunningProcess & { opsUrl: string }

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Runs an app's `main.ts` under this same Node and resolves when its /readyz returns 200. The app's environment has
 * only `env`, PATH, HOME, the compile cache and the ops address, so that no other variable of this process configures
 * the app by accident.
 */
export async function startApp(options: {
  app: string
  env: Readonly<Record<string, string>>
  opsPort: number
  logFile: string
  /** Aborts a start that is still running. */
  signal?: AbortSignal | undefined
  readyLimitMs: number
}): Promise<RunningApp> {
  const { app, opsPort } = options
  const running = await startProcess({
    name: app,
    command: process.execPath,
    args: [`apps/${app}/main.ts`],
    cwd: REPOSITORY,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...options.env,
      OPS_HOST: '127.0.0.1',
      OPS_PORT: String(opsPort),
    },
    logFile: options.logFile,
    stop: { signal: 'SIGTERM', graceMs: 30_000 },
  })
  const opsUrl = `http://127.0.0.1:${opsPort}`
  await waitUntilReady(running, {
    probe: () => isReady(opsUrl),
    limitMs: options.readyLimitMs,
    signal: options.signal,
  })
  return { ...running, opsUrl }
}

async function isReady(opsUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${opsUrl}/readyz`, { signal: AbortSignal.timeout(2_000) })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}
