import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { ADMIN_TOKEN } from '#test/support/cluster.ts'
import { sharedCluster } from '#test/support/shared-cluster.ts'
import { HAS_BROWSER, openPage } from './support/browser.ts'
import { signIn, startConsole, type TestConsole } from './support/console-server.ts'
import { sharedBrowser } from './support/shared-browser.ts'

/** The parts that this billing lacks: operations, by the end of their path, and fields of answers. */
type Older = { operations: readonly string[]; fields: readonly string[] }

/** Starts a proxy for the billing at `target` that answers like a release without the parts that `older` names. */
async function startOlder(target: string, older: Older): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    void (async () => {
      const path = (request.url ?? '').split('?')[0] ?? ''
      const isUnknown = older.operations.some((operation) => path === `/admin/v1${operation}`)
      const answer = await fetch(target + (isUnknown ? '/admin/v1/unheard-of' : (request.url ?? '')), {
        method: request.method ?? 'GET',
        headers: { authorization: request.headers.authorization ?? '', 'content-type': 'application/json' },
        ...(request.method === 'GET' ? {} : { body: await new Response(request).text() }),
      })
      const text = await answer.text()
      response.writeHead(answer.status, { 'content-type': 'application/json' })
      response.end(text === '' ? '' : JSON.stringify(JSON.parse(text), withoutFields(older.fields)))
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return { url: `http://127.0.0.1:${address.port}`, server }
}

function withoutFields(fields: readonly string[]) {
  return (name: string, value: unknown) => (fields.includes(name) ? undefined : value)
}

const OLDER = 'Billing is of an older release than this console and does not have this; upgrade it.'

describe.skipIf(!HAS_BROWSER)('the console before a billing of an older release', () => {
  let older: Awaited<ReturnType<typeof startOlder>>
  let served: TestConsole
  let browser: Browser
  const lacks: { operations: string[]; fields: string[] } = { operations: [], fields: [] }

  beforeAll(async () => {
    const { adminUrl } = await sharedCluster()
    older = await startOlder(adminUrl, lacks)
    served = await startConsole({ billingUrl: older.url })
    browser = sharedBrowser()
  })
  afterAll(async () => {
    await served?.stop()
    older?.server.closeAllConnections()
    older?.server.close()
  })

  test('a screen whose operation it lacks says so, the others work, and after the upgrade this one too', async () => {
    lacks.operations = ['/requests', '/state']
    const { page } = await openPage(browser)
    await signIn(page, served.origin)
    await page.getByText(`The state of the books is not known: ${OLDER}`).waitFor()
    await page.getByRole('link', { name: 'Catalog' }).click()
    await page.getByRole('rowheader', { name: 'demo-reasoning' }).first().waitFor()
    await page.goto(`${served.origin}/#/requests?account=00000000-0000-4000-8000-000000000000`)
    await page.getByText(OLDER).waitFor()
    lacks.operations = []
    await page.getByRole('button', { name: 'Try again' }).click()
    await expect.poll(async () => page.getByText(OLDER).count()).toBe(0)
  })

  test('a screen that cannot be drawn without a field says so, and the navigation stays', async () => {
    lacks.fields = ['models']
    const { page, problems } = await openPage(browser)
    await signIn(page, served.origin)
    await page.getByRole('link', { name: 'Catalog' }).click()
    await page.getByText(/^This screen cannot be drawn\. Billing may be of another release/).waitFor()
    expect(problems.splice(0)).toHaveLength(1)
    lacks.fields = []
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('rowheader', { name: 'demo-reasoning' }).first().waitFor()
    await page.getByRole('link', { name: 'Accounts' }).click()
    await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor()
  })

  test('without sessions there is no sign-in, and the form says why', async () => {
    lacks.operations = ['/sessions']
    const { page } = await openPage(browser)
    await page.goto(served.origin)
    await page.getByLabel('Token of your credential').fill(ADMIN_TOKEN)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText(OLDER).waitFor()
    expect(await page.getByLabel('Token of your credential').count()).toBe(1)
    lacks.operations = []
  })
})
