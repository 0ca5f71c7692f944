import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { ADMIN_TOKEN } from '#test/support/cluster.ts'
import { sharedCluster, type SharedCluster } from '#test/support/shared-cluster.ts'
import { HAS_BROWSER, openPage } from './support/browser.ts'
import { signIn, startConsole, type TestConsole } from './support/console-server.ts'
import { createFakeLive } from './support/fake-live.ts'
import { createFakePicture } from './support/fake-picture.ts'
import { askDemo, waitUntilSettled } from './support/settled.ts'
import { sharedBrowser } from './support/shared-browser.ts'
import { tabTo } from './support/tab-to.ts'

describe.skipIf(!HAS_BROWSER)('the console without a pointer', () => {
  let cluster: SharedCluster
  let served: TestConsole
  let browser: Browser

  beforeAll(async () => {
    cluster = await sharedCluster()
    const picture = createFakePicture({ models: ['demo-chat'], workersPerModel: 1, accounts: [] })
    served = await startConsole({
      billingUrl: cluster.adminUrl,
      serveLive: createFakeLive(picture).serve,
    })
    browser = sharedBrowser()
  })
  afterAll(async () => {
    await served?.stop()
  })

  test('signs in, finds an account, tops it up, makes a key and reads a receipt', async () => {
    const { page, problems } = await openPage(browser)
    const { admin } = cluster
    const { apiKey } = await cluster.createAccount('1')
    const request = await askDemo(cluster, { apiKey, tokens: 20 })
    await waitUntilSettled(cluster, [request])
    const name = `by keyboard ${randomUUID()}`
    const { id } = await admin.call(ADMIN.createAccount, { name })
    await page.goto(`${served.origin}/`)
    await page.getByLabel('Token of your credential').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.type(ADMIN_TOKEN)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Now' }).waitFor()

    await page.keyboard.press('/')
    await page.keyboard.type(name)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: `${name} active` }).waitFor()

    await tabTo(page, 'Top up')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.type('2.5')
    await page.keyboard.press('Tab')
    await page.keyboard.type('by keyboard')
    await page.keyboard.press('Enter')
    await page.getByText('The balance is 2.5 credits.').waitFor()
    expect((await admin.call(ADMIN.readAccount, { account: id })).postedNano).toBe('2500000000')
    await page.keyboard.press('Escape')
    await expect.poll(async () => page.getByRole('dialog').count()).toBe(0)

    await tabTo(page, 'New key')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.type('made by keyboard')
    await page.keyboard.press('Enter')
    await page.locator('#secret').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(async () => page.getByRole('dialog').count()).toBe(0)
    await page.getByRole('rowheader', { name: 'made by keyboard' }).waitFor()

    await page.keyboard.press('/')
    await page.keyboard.type(`chatcmpl-${request}`)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Charge' }).waitFor()
    expect(problems).toEqual([])
    await page.context().close()
  })

  test('goes to each screen with g and a letter, and lists the keys with ?', async () => {
    const { page } = await openPage(browser)
    await signIn(page, served.origin)
    const places = {
      w: 'Workers',
      r: 'Requests',
      a: 'Accounts',
      m: 'Money',
      c: 'Catalog',
      l: 'Log',
      n: 'Now',
    }
    for (const [key, name] of Object.entries(places)) {
      await page.keyboard.press('g')
      await page.keyboard.press(key)
      await page.getByRole('heading', { level: 1, name }).waitFor()
    }
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(async () => page.getByRole('dialog').count()).toBe(0)
    await page.context().close()
  })

  test('a session that has ended asks to sign in again', async () => {
    const { admin } = cluster
    const name = `ends ${randomUUID()}`
    const { token } = await admin.call(ADMIN.createCredential, { name, role: 'owner' })
    const { page } = await openPage(browser)
    await signIn(page, served.origin, token)
    const { data } = await admin.call(ADMIN.listSessions, { open: 'true' })
    const own = data.filter((session) => session.name === name)
    expect(own).toHaveLength(1)
    for (const { id } of own) await admin.call(ADMIN.endSession, { session: id })
    await page.goto(`${served.origin}/#/accounts`)
    await page.getByText('Your session has ended.').waitFor()
    expect(await page.getByRole('navigation').count()).toBe(0)
    await page.context().close()
  })
})
