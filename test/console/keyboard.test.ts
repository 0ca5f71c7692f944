import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { ADMIN_TOKEN } from '#test/support/cluster.ts'
import { HAS_BROWSER, openPage } from './support/browser.ts'
import { signIn } from './support/console-server.ts'
import { startDemo, type Demo } from './support/demo.ts'
import { sharedBrowser } from './support/shared-browser.ts'
import { tabTo } from './support/tab-to.ts'

describe.skipIf(!HAS_BROWSER)('the console without a pointer', () => {
  let demo: Demo
  let browser: Browser

  beforeAll(async () => {
    demo = await startDemo()
    browser = sharedBrowser()
  })
  afterAll(async () => {
    await demo?.stop()
  })

  test('signs in, finds an account, tops it up, makes a key and reads a receipt', async () => {
    const { page, problems } = await openPage(browser)
    const { admin } = demo.cluster
    const { id } = await admin.call(ADMIN.createAccount, { name: 'by keyboard' })
    await page.goto(`${demo.served.origin}/`)
    await page.getByLabel('Token of your credential').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.type(ADMIN_TOKEN)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Now' }).waitFor()

    await page.keyboard.press('/')
    await page.keyboard.type('by keyboard')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'by keyboard active' }).waitFor()

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
    await page.keyboard.type(`chatcmpl-${demo.screens['request']?.replace('#/request/', '')}`)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Charge' }).waitFor()
    expect(problems).toEqual([])
    await page.context().close()
  })

  test('goes to each screen with g and a letter, and lists the keys with ?', async () => {
    const { page } = await openPage(browser)
    await signIn(page, demo.served.origin)
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
    const { page } = await openPage(browser)
    await signIn(page, demo.served.origin)
    const { data } = await demo.cluster.admin.call(ADMIN.listSessions, { open: 'true' })
    for (const { id } of data) await demo.cluster.admin.call(ADMIN.endSession, { session: id })
    await page.goto(`${demo.served.origin}/#/accounts`)
    await page.getByText('Your session has ended.').waitFor()
    expect(await page.getByRole('navigation').count()).toBe(0)
    await page.context().close()
  })
})
