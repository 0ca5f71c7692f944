import { loadConsolePage } from '#apps/console/http/load-console-page.ts'
import { createConsoleServer } from '#apps/console/http/serve-console.ts'
import { log } from '../billing/support/billing-database.ts'
import { test as base } from '../billing/support/billing-test.ts'

export const ORIGIN = new URL('https://console.example')

/** The headers of a request of the console's page. */
export const HEADERS = {
  host: ORIGIN.host,
  'sec-fetch-site': 'same-origin',
  'content-type': 'application/json',
  'x-millrace-page': '1',
}

type Options = Partial<Parameters<typeof createConsoleServer>[0]>

/** A `test` for the console's server in front of a billing with a real database. The console's clock stands at 0. */
export const test = base
  .extend('page', { scope: 'file' }, () => loadConsolePage())
  .extend('billingUrl', { scope: 'file' }, ({ fileDatabase }) =>
    fileDatabase.admin.listen({ host: '127.0.0.1', port: 0 }),
  )
  .extend(
    'createConsole',
    ({ page, billingUrl }) =>
      (options: Options = {}) =>
        createConsoleServer({
          keepAliveTimeoutMs: 72_000,
          origin: ORIGIN,
          billingUrl,
          page,
          settings: { version: 'test', grafanaUrl: null, docsUrl: null },
          serveLive: () => {},
          nowMs: () => 0,
          log,
          ...options,
        }),
  )
