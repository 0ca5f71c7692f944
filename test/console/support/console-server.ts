import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Page as BrowserPage } from 'playwright-core'
import { createConsoleServer } from '#apps/console/http/serve-console.ts'
import { loadConsolePage } from '#apps/console/http/load-console-page.ts'
import { createLogger } from '#libs/telemetry/logger.ts'
import { ADMIN_TOKEN } from '#test/support/cluster.ts'
import { freePort } from '#test/support/free-port.ts'

export type TestConsole = { origin: string; stop(): Promise<void> }

let page: ReturnType<typeof loadConsolePage> | undefined

/** Starts the console's server in this process. It uses the billing at `billingUrl`. */
export async function startConsole({
  billingUrl,
  serveLive = () => {},
}: {
  billingUrl: string
  serveLive?: (app: FastifyInstance, tokenOf: (request: FastifyRequest) => string) => void
}): Promise<TestConsole> {
  // The page is loaded once for all files of the process.
  page ??= loadConsolePage()
  const port = await freePort()
  // The origin has the same form as in `npm start`.
  const origin = new URL(`http://${randomBytes(8).toString('hex')}.localhost:${port}`)
  const app = createConsoleServer({
    keepAliveTimeoutMs: 72_000,
    origin,
    billingUrl,
    page: await page,
    settings: { version: 'test', grafanaUrl: null, docsUrl: null },
    serveLive,
    nowMs: () => Date.now(),
    log: createLogger('console', 'silent'),
  })
  await app.listen({ host: '127.0.0.1', port })
  return { origin: origin.origin, stop: async () => await app.close() }
}

/** Opens the console and signs in with a credential's token. */
export async function signIn(page: BrowserPage, origin: string, token = ADMIN_TOKEN): Promise<void> {
  await page.goto(`${origin}/`)
  await page.getByLabel('Token of your credential').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Screens' }).waitFor()
}
