import { startApp as start, type RunningApp } from '#scripts/servers/start-app.ts'
import { freePort } from './free-port.ts'
import { scratchLog } from './run-folder.ts'

export type { RunningApp } from '#scripts/servers/start-app.ts'

/**
 * Starts `apps/<app>/main.ts` in a separate process and resolves when its /readyz returns 200. OPS_HOST and OPS_PORT
 * are set here; `env` is the rest of its configuration. The test must stop or kill the process; if the test forgets
 * this, the process ends with the test process.
 */
export async function startApp(app: string, env: Readonly<Record<string, string>>): Promise<RunningApp> {
  return await start({ app, env, opsPort: await freePort(), logFile: scratchLog(app), readyLimitMs: 60_000 })
}
