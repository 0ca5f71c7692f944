import { beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { goTo, HOSTILE, signInWithKey, createAccountDemo, type AccountDemo } from './support/account-demo.ts'
import { checkAccessibility } from './support/axe.ts'
import { HAS_BROWSER, openPage } from './support/browser.ts'
import { sharedBrowser } from './support/shared-browser.ts'

describe.skipIf(!HAS_BROWSER)('the account page with a management key', () => {
  let demo: AccountDemo
  let browser: Browser

  beforeAll(async () => {
    demo = await createAccountDemo()
    browser = sharedBrowser()
  })

  test.each(['light', 'dark'] as const)(
    'is accessible in its %s theme on every screen and in the form of a key',
    { timeout: 240_000 },
    async (colorScheme) => {
      const { page, problems } = await openPage(browser, { colorScheme })
      await signInWithKey(page, demo.url, demo.keys.manager)
      const found: string[] = []
      for (const hash of ['#/', '#/requests', '#/use', '#/keys']) {
        await goTo(page, hash)
        await expect.poll(async () => page.locator('.waiting').count()).toBe(0)
        found.push(...(await checkAccessibility(page)).violations)
      }
      await page.getByRole('button', { name: 'New key' }).click()
      await page.getByRole('dialog').waitFor()
      found.push(...(await checkAccessibility(page)).violations)
      expect(found).toEqual([])
      expect(problems).toEqual([])
      await page.context().close()
    },
  )

  test('makes a key whose secret is shown once, changes, rotates and deletes it, and names stay text', async () => {
    const { admin } = demo.cluster
    const { page, problems } = await openPage(browser)
    await signInWithKey(page, demo.url, demo.keys.manager)
    await goTo(page, '#/keys')
    await page.getByRole('rowheader', { name: HOSTILE }).waitFor()
    expect(await page.locator('img').count()).toBe(0)

    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByLabel('Name').fill('made here')
    await page.getByLabel('Spend limit in credits').fill('many')
    await page.getByRole('button', { name: 'Create the key' }).click()
    await page.getByText('“many” is not an amount').waitFor()
    await page.getByLabel('Spend limit in credits').fill('12.5')
    await page.getByRole('button', { name: 'Create the key' }).dblclick()
    const secret = (await page.locator('#secret').textContent()) ?? ''
    await page.getByRole('button', { name: 'Done' }).click()
    const keyNamed = async (name: string) =>
      (await admin.call(ADMIN.listKeys, { account: demo.accountId })).data.filter((key) => key.name === name)
    const [key, ...others] = await keyNamed('made here')
    expect(others).toEqual([])
    expect(secret.endsWith(key?.last4 ?? '-')).toBe(true)
    expect(key?.spendLimit).toEqual({ amountNano: '12500000000', period: 'month' })
    await page.locator('#secret').waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain(secret)

    await page.getByRole('button', { name: 'change made here' }).click()
    await page.getByLabel('Requests a minute').fill('60')
    await page.getByRole('button', { name: 'Change the key' }).click()
    await page.getByText('The key is changed.').waitFor()
    const [changed] = await keyNamed('made here')
    expect([changed?.requestsPerMinute, changed?.spendLimit]).toEqual([60, key?.spendLimit])

    await page.getByRole('button', { name: 'rotate made here' }).click()
    await page.getByRole('button', { name: 'Rotate the key' }).click()
    await page.locator('#secret').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(async () => (await keyNamed('made here')).length).toBe(2)

    await page.getByRole('button', { name: 'delete made here' }).last().click()
    await page.getByLabel('Type the last 4 characters').fill('nope')
    await page.getByRole('button', { name: 'Delete the key' }).click()
    await page.getByText('This is not').waitFor()
    await page.getByLabel('Type the last 4 characters').fill(key?.last4 ?? '')
    await page.getByRole('button', { name: 'Delete the key' }).click()
    await page.getByText('The key is deleted.').waitFor()
    expect((await admin.call(ADMIN.readKey, { key: key?.id ?? '' })).status).toBe('revoked')
    expect(problems).toEqual([])
    await page.context().close()
  })

  test('says that a lost answer may have made a key; the same again makes no second one', async () => {
    const { page } = await openPage(browser)
    await signInWithKey(page, demo.url, demo.keys.manager)
    await goTo(page, '#/keys')
    let isLost = false
    await page.route('**/v1/keys', async (route) => {
      if (isLost || route.request().method() !== 'POST') return await route.continue()
      const response = await route.fetch()
      // Only the answer that created a key is lost. A refusal that came too early passes; then the page waits and
      // repeats.
      if (response.status() !== 201) return await route.fulfill({ response })
      isLost = true
      await route.abort()
    })
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByLabel('Name').fill('lost')
    await page.getByRole('button', { name: 'Create the key' }).click()
    await page.getByText('It is not known whether it was done.').waitFor()
    await page.getByRole('button', { name: 'Send the same again' }).click()
    await page.getByText('The key had been made before').waitFor()
    const { data } = await demo.cluster.admin.call(ADMIN.listKeys, { account: demo.accountId })
    expect(data.filter(({ name }) => name === 'lost')).toHaveLength(1)
    await page.context().close()
  })

  test('an API key sees no keys of its account', async () => {
    const { page } = await openPage(browser)
    await signInWithKey(page, demo.url, demo.keys.full)
    await page.locator('.spendable').waitFor()
    expect(await page.getByRole('link', { name: 'Keys' }).count()).toBe(0)
    await goTo(page, '#/keys')
    await page.getByText('Only a management key lists').waitFor()
    await page.context().close()
  })
})
