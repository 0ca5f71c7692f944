import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { sharedCluster } from '#test/support/shared-cluster.ts'
import { HAS_BROWSER, openPage } from './support/browser.ts'
import { signIn, startConsole, type TestConsole } from './support/console-server.ts'
import { createFakeLive } from './support/fake-live.ts'
import { createFakePicture } from './support/fake-picture.ts'
import { sharedBrowser } from './support/shared-browser.ts'

const MODELS = Array.from({ length: 130 }, (_, index) => `model-${index}`)

describe.skipIf(!HAS_BROWSER)('a live table of many rows', () => {
  let served: TestConsole
  let browser: Browser

  beforeAll(async () => {
    const { adminUrl } = await sharedCluster()
    const picture = createFakePicture({ models: MODELS, workersPerModel: 1, accounts: [] })
    served = await startConsole({
      billingUrl: adminUrl,
      serveLive: createFakeLive(picture).serve,
    })
    browser = sharedBrowser()
  })
  afterAll(async () => {
    await served?.stop()
  })

  test.each([
    ['Now', '#/', 'Models now'],
    ['Workers', '#/workers', 'Workers'],
  ])('%s draws the first fifty, and all when asked', async (_, hash, caption) => {
    const { page } = await openPage(browser)
    await signIn(page, served.origin)
    await page.goto(`${served.origin}/${hash}`)
    const rows = page.getByRole('region', { name: caption }).locator('tbody tr')
    await rows.first().waitFor()
    expect(await rows.count()).toBe(50)
    await page.getByText('The first 50 of 130.').waitFor()
    await page.getByRole('button', { name: 'Show all' }).click()
    await expect.poll(async () => rows.count()).toBe(130)
    expect(await page.getByRole('button', { name: 'Show all' }).count()).toBe(0)
    await page.context().close()
  })
})
