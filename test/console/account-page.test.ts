import { createServer, request as forward } from 'node:http'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { ACCOUNT } from '#libs/account-contract/account-contract.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { exactCredits } from '#libs/page-parts/money.ts'
import { freePort } from '#test/support/free-port.ts'
import { startOwnGateway } from '#test/support/own-parts.ts'
import { goTo, HOSTILE, signInWithKey, createAccountDemo, type AccountDemo } from './support/account-demo.ts'
import { checkAccessibility } from './support/axe.ts'
import { HAS_BROWSER, openPage } from './support/browser.ts'
import { sharedBrowser } from './support/shared-browser.ts'
import { tabTo } from './support/tab-to.ts'

describe.skipIf(!HAS_BROWSER)('the account page', () => {
  let demo: AccountDemo
  let browser: Browser

  beforeAll(async () => {
    demo = await createAccountDemo()
    browser = sharedBrowser()
  })

  /** Opens each screen, signed in with the key, and resolves with the results of `look`. */
  async function lookAtScreens<Seen>(page: Page, apiKey: string, look: (screen: string) => Promise<Seen>) {
    await signInWithKey(page, demo.url, apiKey)
    const seen: Record<string, Seen> = {}
    for (const [screen, hash] of Object.entries(demo.screens)) {
      await goTo(page, hash)
      await expect.poll(async () => page.locator('.waiting').count()).toBe(0)
      seen[screen] = await look(screen)
    }
    return seen
  }

  test.each(['light', 'dark'] as const)(
    'is accessible in its %s theme, and reports no error and no violation of its policy',
    { timeout: 240_000 },
    async (colorScheme) => {
      const { page, problems } = await openPage(browser, { colorScheme })
      let checks = 0
      const look = async () => {
        const { passes, violations } = await checkAccessibility(page)
        checks += passes
        return violations
      }
      await page.goto(demo.url)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('Type or paste a key first.').waitFor()
      const found = [await look(), await lookAtScreens(page, demo.keys.full, look)]
      found.push(await lookAtScreens(page, demo.keys.empty, look))
      expect(found.flatMap((screens) => Object.values(screens)).flat()).toEqual([])
      expect(checks).toBeGreaterThan(100)
      expect(problems).toEqual([])
      await page.context().close()
    },
  )

  test('fits a width of 375 px: nothing but tables and code scrolls sideways', async () => {
    const { page } = await openPage(browser, { viewport: { width: 375, height: 720 } })
    const measure = async () => page.evaluate<number>('document.documentElement.scrollWidth')
    for (const key of [demo.keys.full, demo.keys.manager]) {
      const widths = await lookAtScreens(page, key, measure)
      expect(Object.entries(widths).filter(([, width]) => width > 375)).toEqual([])
    }
    await page.context().close()
  })

  test('loads at most 40 KB in all its screens together, and nothing from another host', async () => {
    const { page } = await openPage(browser)
    const debug = await page.context().newCDPSession(page)
    await debug.send('Network.enable')
    const urls = new Map<string, string>()
    const bytes = new Map<string, number>()
    debug.on('Network.requestWillBeSent', ({ requestId, request }) => urls.set(requestId, request.url))
    debug.on('Network.loadingFinished', ({ requestId, encodedDataLength }) =>
      bytes.set(requestId, encodedDataLength),
    )
    await lookAtScreens(page, demo.keys.full, async () => {})
    const { origin } = new URL(demo.url)
    const elsewhere = [...urls.values()].filter((url) => !url.startsWith(`${origin}/`))
    expect(elsewhere.filter((url) => url !== 'about:blank')).toEqual([])
    const own = [...urls].filter(([, url]) => new URL(url).pathname.startsWith('/account'))
    const sum = own.reduce((all, [id]) => all + (bytes.get(id) ?? 0), 0)
    expect(sum).toBeGreaterThan(10_000)
    expect(sum).toBeLessThanOrEqual(40_000)
    await page.context().close()
  })

  test('keeps the key out of storage, cookies, the address and the document, and forgets it when it is left', async () => {
    const { page, problems } = await openPage(browser)
    await lookAtScreens(page, demo.keys.full, async () => {
      const kept = await page.evaluate<string>(
        `JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state,
          document.documentElement.outerHTML, [...document.querySelectorAll('input')].map(({ value }) => value)])`,
      )
      expect(kept).not.toContain(demo.keys.full)
    })
    expect(await page.context().cookies()).toEqual([])
    // A browser sends this event when it keeps the page in its back/forward cache.
    await page.evaluate(`dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))`)
    expect(await page.getByLabel('API key').inputValue()).toBe('')
    expect(await page.getByRole('navigation').count()).toBe(0)
    await page.reload()
    await page.getByLabel('API key').waitFor()
    expect(problems).toEqual([])
    await page.context().close()
  })

  test('says that a wrong key is not accepted, and signs out when a good one is revoked', async () => {
    const { admin } = demo.cluster
    const { page } = await openPage(browser)
    await page.goto(demo.url)
    await page.getByLabel('API key').fill(`${demo.keys.full.slice(0, -4)}0000`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('The gateway does not accept this key').waitFor()

    const key = await admin.call(ADMIN.createKey, { account: demo.accountId, name: 'short-lived' })
    await signInWithKey(page, demo.url, key.secret)
    await page.getByText('short-lived').waitFor()
    await admin.call(ADMIN.revokeKey, { key: key.id })
    await page.getByText('The gateway no longer accepts the key.').waitFor({ timeout: 20_000 })
    expect(await page.getByLabel('API key').inputValue()).toBe('')
    await page.context().close()
  })

  test('shows what can be spent with both bounds, and which is the lesser', async () => {
    const { page } = await openPage(browser)
    await signInWithKey(page, demo.url, demo.keys.full)
    const spendable = page.locator('.spendable')
    const headers = { authorization: `Bearer ${demo.keys.full}` }
    const response = await fetch(`${demo.cluster.baseUrl}/key`, { headers })
    const { nano } = ACCOUNT.readKey.answer.parse(await response.json()).data
    await spendable.waitFor()
    const copied = async (place: string) => spendable.locator(place).first().getAttribute('data-copy')
    expect(await copied('.figure .money')).toBe(nano.spendable)
    expect(nano.spendable).toBe(nano.limit_remaining)
    expect(await spendable.locator('dd', { hasText: 'this is the lesser' }).textContent()).toMatch(
      /left of 25\.00\s+this month/,
    )
    expect(await spendable.textContent()).toMatch(/begins anew\s[\s\S]+ UTC, in \d+/)

    await signInWithKey(page, demo.url, demo.keys.empty)
    await page.getByText('none: the account’s credits are the only bound').waitFor()
    await page.getByText('Nothing was charged in the last 30 days.').waitFor()
    await goTo(page, '#/requests')
    await page.getByText('No request has been made yet.').waitFor()
    await page.context().close()
  })

  test('shows hostile names as text', async () => {
    const { page, problems } = await openPage(browser)
    await lookAtScreens(page, demo.keys.full, async () => expect(await page.locator('img').count()).toBe(0))
    await page.getByText(HOSTILE).waitFor()
    expect(problems).toEqual([])
    await page.context().close()
  })

  test('shows a receipt whose numbers are billing’s', async () => {
    const { page } = await openPage(browser)
    const [request = ''] = demo.requests
    const { settlement, prices, timing } = await demo.cluster.admin.call(ADMIN.readRequest, { request })
    await signInWithKey(page, demo.url, demo.keys.full)
    await goTo(page, '#/requests')
    await page.getByRole('table').waitFor()
    expect(await page.getByRole('row').count()).toBe(1 + demo.requests.length)
    await page.getByLabel('Receipt of').fill(`chatcmpl-${request}`)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Charge' }).waitFor()
    if (settlement === null || prices === null || timing === null) throw new Error('it is not settled')
    const facts = await page.locator('main').innerText()
    const { promptTokens, cachedTokens, completionTokens, chargedNano } = settlement
    expect(facts).toContain(`${promptTokens - cachedTokens} tokens × ${exactCredits(prices.inputPriceNano)}`)
    expect(facts).toContain(`${cachedTokens} tokens × ${exactCredits(prices.cachedInputPriceNano)}`)
    expect(facts).toContain(`${completionTokens} tokens × ${exactCredits(prices.outputPriceNano)}`)
    expect(facts).toContain(`${exactCredits(chargedNano)} credits`)
    expect(facts).toContain(`${settlement.outcome} · ${timing.finishReason}`)
    expect(BigInt(chargedNano)).toBeGreaterThan(0n)

    await goTo(page, demo.screens['request-unknown'] ?? '')
    await page.getByText('There is no request with this id.').waitFor()
    await page.context().close()
  })

  test('can be walked with the keyboard alone', async () => {
    const { page, problems } = await openPage(browser)
    await page.goto(demo.url)
    await page.getByLabel('API key').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.type(demo.keys.full)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await tabTo(page, 'Requests')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Requests' }).waitFor()
    await page.getByRole('table').waitFor()
    const first = await page.getByRole('rowheader').first().innerText()
    await tabTo(page, first)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Charge' }).waitFor()
    await tabTo(page, 'sign out')
    await page.keyboard.press('Enter')
    await page.getByText('You have signed out.').waitFor()
    expect(problems).toEqual([])
    await page.context().close()
  })

  test('names the address under which it was reached, also behind a proxy that puts a path before it', async () => {
    const gateway = new URL(demo.url)
    const proxy = createServer((incoming, outgoing) => {
      const path = (incoming.url ?? '').replace(/^\/llm(?=\/)/, '')
      const onward = forward(
        {
          host: gateway.hostname,
          port: gateway.port,
          path,
          method: incoming.method,
          headers: incoming.headers,
        },
        (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.pipe(outgoing)
        },
      )
      incoming.pipe(onward)
    })
    const port = await freePort()
    await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve))
    onTestFinished(() => {
      proxy.closeAllConnections()
      proxy.close()
    })
    const base = `http://127.0.0.1:${port}/llm/v1`
    const { page, problems } = await openPage(browser)
    await signInWithKey(page, `http://127.0.0.1:${port}/llm/account`, demo.keys.full)
    await goTo(page, '#/use')
    await page.getByRole('region', { name: 'Codex' }).waitFor()
    for (const client of ['Environment', 'curl', 'Python', 'JavaScript', 'Codex']) {
      expect(await page.getByRole('region', { name: client }).innerText()).toContain(base)
    }
    expect(problems).toEqual([])
    await page.context().close()
  })

  test('waits for its turn when it reads too fast, and shows what does not pass by itself', async () => {
    const { page } = await openPage(browser)
    await signInWithKey(page, demo.url, demo.keys.full)
    const refusal = (retryAfter: string) => ({
      status: 429,
      headers: { 'retry-after': retryAfter },
      json: { error: { code: 'model_busy', message: 'This API key reads its own data too often.' } },
    })
    await page.route('**/v1/generations', async (route) => route.fulfill(refusal('1')), { times: 1 })
    await goTo(page, '#/requests')
    await page.getByRole('table').waitFor()

    await page.route('**/v1/generations', async (route) => route.fulfill(refusal('30')), { times: 1 })
    await page.getByRole('button', { name: 'Load anew' }).click()
    await page.getByRole('alert').getByText('reads its own data too often').waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await expect.poll(async () => page.getByRole('alert').count()).toBe(0)

    await page.route('**/v1/generations', async (route) => route.abort(), { times: 1 })
    await page.getByRole('button', { name: 'Load anew' }).click()
    await page.getByText('The gateway does not answer.').waitFor()
    await expect.poll(async () => page.getByRole('alert').count()).toBe(0)
    await page.context().close()
  })

  test('is a 404 with ACCOUNT_PAGE=off', async () => {
    const gateway = await startOwnGateway(demo.cluster, { ACCOUNT_PAGE: 'off' })
    onTestFinished(async () => await gateway.stop())
    const { origin } = new URL(gateway.baseUrl)
    expect((await fetch(`${origin}/account`)).status).toBe(404)
    expect((await fetch(`${origin}/openapi.json`)).status).toBe(200)
  })
})
