import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { HAS_BROWSER, openPage } from './support/browser.ts'
import { startBilling, type TestBilling } from './support/billing.ts'
import { signIn, startConsole, type TestConsole } from './support/console-server.ts'
import { sharedBrowser } from './support/shared-browser.ts'

const LATER = '2040-01-31T00:00:00.000Z'

describe.skipIf(!HAS_BROWSER)('the catalog in the console', () => {
  let billing: TestBilling
  let served: TestConsole
  let browser: Browser

  beforeAll(async () => {
    billing = await startBilling()
    served = await startConsole({ billingUrl: billing.adminUrl })
    browser = sharedBrowser()
  })
  afterAll(async () => {
    await served?.stop()
    await billing?.stop()
  })

  async function openCatalog(): Promise<Page> {
    const { page } = await openPage(browser)
    await signIn(page, served.origin)
    await page.goto(`${served.origin}/#/catalog`)
    await page.getByRole('button', { name: 'Publish a file' }).click()
    return page
  }

  const upload = async (page: Page, text: string) =>
    await page.getByLabel('Catalog, as JSON: a file').setInputFiles({
      name: 'catalog.json',
      mimeType: 'application/json',
      buffer: Buffer.from(text),
    })

  test('a file with a later price is listed as changes first, then published, and other models stay', async () => {
    const { models } = await billing.admin.call(ADMIN.readCatalog, {})
    const [model] = models.filter(({ id }) => id === 'demo-chat')
    if (model === undefined) throw new Error('the catalog has no demo-chat')
    const page = await openCatalog()
    await upload(page, JSON.stringify({ models: [{ ...model, outputPriceNano: '1250000000' }] }))
    await page.getByLabel('From').fill('2040-01-31 00:00')
    await page.getByLabel('Reason', { exact: true }).fill('new year')
    await page.getByRole('button', { name: 'List the changes' }).click()
    await page.getByRole('dialog').getByRole('cell', { name: '1.25', exact: true }).waitFor()
    // A dry run: nothing is published yet.
    expect((await billing.admin.call(ADMIN.readCatalog, {})).scheduled).toEqual([])
    await page.getByRole('button', { name: 'Publish 1 change' }).click()
    await page.getByRole('heading', { name: 'Prices to come' }).waitFor()
    const published = await billing.admin.call(ADMIN.readCatalog, {})
    expect(published.models).toEqual(models)
    expect(published.scheduled).toEqual([
      expect.objectContaining({ model: 'demo-chat', effectiveFrom: LATER, outputPriceNano: '1250000000' }),
    ])
  })

  test('a file that is no catalog is refused at its field, by the page or by billing', async () => {
    const page = await openCatalog()
    const send = async () => await page.getByRole('button', { name: 'List the changes' }).click()
    await upload(page, '{ "models": [')
    await send()
    await page.getByText('This is no JSON.').waitFor()
    await upload(page, '[]')
    await send()
    await page.getByText('Expected an object with a list of models.').waitFor()
    await upload(page, '{ "models": [{ "id": "x" }] }')
    await send()
    await page.getByText(/^'models\.0\./).waitFor()
    expect(await page.getByRole('button', { name: 'List the changes' }).count()).toBe(1)
  })
})
