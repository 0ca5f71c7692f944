import { COMPILE_CACHE } from '#scripts/servers/compile-cache.ts'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { startProcess, type RunningProcess } from '#scripts/servers/start-process.ts'
import { freePort } from '../../../support/free-port.ts'
import { scratchLog } from '../../../support/run-folder.ts'

export type BillingProcess = RunningProcess & {
  opsUrl: string
  /** Returns the status and the text of `/readyz`; null while the operators' port is closed. */
  readiness(): Promise<{ status: number; text: string } | null>
}

/**
 * Returns the variables that every serving replica needs, with ports of its own, but without the servers' addresses.
 */
export async function billingEnvironment(
  fields: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  return {
    GRPC_LISTEN: `127.0.0.1:${await freePort()}`,
    ADMIN_PORT: String(await freePort()),
    ADMIN_TOKEN: 'a-token-of-the-tests',
    RECEIPT_SECRETS: 'a-receipt-secret-of-32-characters',
    ...fields,
  }
}

/** Starts billing with exactly these variables and the compile cache. Does not wait until it is ready. */
export async function startBilling(env: Readonly<Record<string, string>>): Promise<BillingProcess> {
  const port = await freePort()
  const opsUrl = `http://127.0.0.1:${port}`
  const running = await startProcess({
    name: 'billing',
    command: process.execPath,
    args: ['apps/billing/main.ts'],
    cwd: REPOSITORY,
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: COMPILE_CACHE, OPS_PORT: String(port), ...env },
    logFile: scratchLog('billing'),
    stop: { signal: 'SIGTERM', graceMs: 30_000 },
  })
  return {
    ...running,
    opsUrl,
    async readiness() {
      try {
        const response = await fetch(`${opsUrl}/readyz`)
        return { status: response.status, text: (await response.text()).trim() }
      } catch {
        return null
      }
    },
  }
}
