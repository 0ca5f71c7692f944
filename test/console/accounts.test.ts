import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { sharedCluster, type SharedCluster } from '#test/support/shared-cluster.ts'
import { HAS_BROWSER, openPage } from './support/browser.ts'
import { signIn, startConsole, type TestConsole } from './support/console-server.ts'
import { sharedBrowser } from './support/shared-browser.ts'

/** A name that would run as a script if the page inserted it as HTML. */
const HOSTILE = '<img src=x onerror=alert(1)>'

describe.skipIf(!HAS_BROWSER)('accounts in the console', () => {
  let cluster: SharedCluster
  let served: TestConsole
  let browser: Browser

  beforeAll(async () => {
    cluster = await sharedCluster()
    served = await startConsole({ billingUrl: cluster.adminUrl })
    browser = sharedBrowser()
  })
  afterAll(async () => {
    await served?.stop()
  })

  async function account(name: string): Promise<{ id: string; url: string }> {
    const { id } = await cluster.admin.call(ADMIN.createAccount, { name })
    return { id, url: `${served.origin}/#/account/${id}` }
  }

  async function posted(id: string): Promise<string> {
    return (await cluster.admin.call(ADMIN.readAccount, { account: id })).postedNano
  }

  test('a top-up whose button is clicked twice moves credits once', async () => {
    const { id, url } = await account('double click')
    const { page, problems } = await openPage(browser)
    await signIn(page, served.origin)
    await page.goto(url)
    await page.getByRole('button', { name: 'Top up' }).click()
    await page.getByLabel('Credits').fill('25')
    await page.getByLabel('Reason').fill('invoice 7')
    await page.getByRole('button', { name: 'Give the credits' }).dblclick()
    await page.getByText('The balance is 25 credits.').waitFor()
    expect(await posted(id)).toBe('25000000000')
    await page.getByRole('button', { name: 'Done' }).click()
    await expect.poll(async () => page.locator('.tiles').textContent()).toContain('25.00')
    expect(problems).toEqual([])
    await page.context().close()
  })

  test('a top-up whose answer is lost is sent again with the same key, and paid once', async () => {
    const { id, url } = await account('lost answer')
    const { page } = await openPage(browser)
    await signIn(page, served.origin)
    await page.goto(url)
    // The first request arrives; its answer does not.
    await page.route(
      '**/topups',
      async (route) => {
        const request = route.request()
        const { host, hostname } = new URL(request.url())
        // This process sends the request. Unlike a browser, it cannot resolve a name below localhost.
        const sent = request.url().replace(hostname, '127.0.0.1')
        await route.fetch({ url: sent, headers: { ...(await request.allHeaders()), host } })
        await route.abort()
      },
      { times: 1 },
    )
    await page.getByRole('button', { name: 'Top up' }).click()
    await page.getByLabel('Credits').fill('3')
    await page.getByLabel('Reason').fill('invoice 8')
    await page.getByRole('button', { name: 'Give the credits' }).click()
    await page.getByText('It is not known whether it was done.').waitFor()
    await page.getByRole('button', { name: 'Send the same again' }).click()
    await page.getByText('was not done again (replayed)').waitFor()
    expect(await posted(id)).toBe('3000000000')
    await page.context().close()
  })

  test('hostile names of accounts and keys are text', async () => {
    const name = `${HOSTILE} ${randomUUID()}`
    const { id, url } = await account(name)
    await cluster.admin.call(ADMIN.createKey, { account: id, name: HOSTILE })
    const { page, problems } = await openPage(browser)
    await signIn(page, served.origin)
    await page.goto(`${served.origin}/#/accounts?name=${encodeURIComponent(name)}`)
    await page.getByRole('link', { name }).click()
    await page.waitForURL(url)
    await page.getByRole('heading', { name }).waitFor()
    await page.getByRole('rowheader', { name: HOSTILE }).waitFor()
    expect(await page.locator('img').count()).toBe(0)
    expect(problems).toEqual([])
    await page.context().close()
  })

  test('a key is created, its secret shown once, and revoked only by its last four characters', async () => {
    const { id, url } = await account('keys')
    const { page } = await openPage(browser)
    await signIn(page, served.origin)
    await page.goto(url)
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByLabel('Name').fill('production')
    await page.getByLabel('Spend limit in credits').fill('12.5')
    await page.getByRole('button', { name: 'Create the key' }).click()
    const secret = (await page.locator('#secret').textContent()) ?? ''
    await page.getByRole('button', { name: 'Done' }).click()
    const [key] = (await cluster.admin.call(ADMIN.listKeys, { account: id })).data
    expect(secret.endsWith(key?.last4 ?? '-')).toBe(true)
    expect(key?.spendLimit).toEqual({ amountNano: '12500000000', period: 'month' })
    await page.locator('#secret').waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain(secret)

    await page.getByRole('button', { name: 'revoke production' }).click()
    await page.getByLabel('Type the last 4 characters').fill('nope')
    await page.getByRole('button', { name: 'Revoke the key' }).click()
    await page.getByText(`This is not “${key?.last4}”.`).waitFor()
    await page.getByLabel('Type the last 4 characters').fill(key?.last4 ?? '')
    await page.getByRole('button', { name: 'Revoke the key' }).click()
    await page.getByRole('cell', { name: 'revoked' }).waitFor()
    expect((await cluster.admin.call(ADMIN.readKey, { key: key?.id ?? '' })).status).toBe('revoked')
    await page.context().close()
  })

  test('a management key is created, its secret shown once, and revoked', async () => {
    const { id, url } = await account('managed')
    const { page } = await openPage(browser)
    await signIn(page, served.origin)
    await page.goto(url)
    await page.getByRole('button', { name: 'New management key' }).click()
    await page.getByLabel('Name').fill('deployment')
    await page.getByRole('button', { name: 'Create the management key' }).click()
    const secret = (await page.locator('#secret').textContent()) ?? ''
    await page.getByRole('button', { name: 'Done' }).click()
    const [key] = (await cluster.admin.call(ADMIN.listManagementKeys, { account: id })).data
    expect(key).toMatchObject({ name: 'deployment', status: 'active', last4: secret.slice(-4) })
    await page.locator('#secret').waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain(secret)

    await page.getByRole('button', { name: 'revoke deployment' }).click()
    await page.getByLabel('Type the last 4 characters').fill(secret.slice(-4))
    await page.getByRole('button', { name: 'Revoke the management key' }).click()
    await page.getByRole('cell', { name: 'revoked' }).waitFor()
    await page.context().close()
  })

  test.each(['viewer', 'ops'] as const)(
    'a %s sees an account and no button that moves its credits',
    async (role) => {
      const { url } = await account(`seen by ${role}`)
      const { token } = await cluster.admin.call(ADMIN.createCredential, {
        name: `${role} ${randomUUID()}`,
        role,
      })
      const { page } = await openPage(browser)
      await signIn(page, served.origin, token)
      await page.goto(url)
      await page.getByRole('heading', { name: `seen by ${role}` }).waitFor()
      for (const name of ['Top up', 'Adjust', 'Close account', 'New key']) {
        expect(await page.getByRole('button', { name }).count()).toBe(0)
      }
      await page.context().close()
    },
  )
})
