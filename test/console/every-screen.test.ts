import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { checkAccessibility } from './support/axe.ts'
import { HAS_BROWSER, openPage } from './support/browser.ts'
import { signIn } from './support/console-server.ts'
import { startDemo, type Demo } from './support/demo.ts'
import { sharedBrowser } from './support/shared-browser.ts'

/** The heading of each screen of the demo. */
const HEADINGS = new Map([
  ['now', /^Now$/],
  ['model', /^demo-chat\b/],
  ['workers', /^Workers$/],
  ['request', /^Request completed\b/],
  ['requests', /^Requests$/],
  ['accounts', /^Accounts$/],
  ['account', /^test active$/],
  ['account-empty', /^globex & sons/],
  ['money', /^Money$/],
  ['catalog', /^Catalog$/],
  ['log', /^Log$/],
  ['find', /^Search for “e”$/],
  ['first-steps', /^First steps$/],
  ['request-unknown', /^Request$/],
])

describe.skipIf(!HAS_BROWSER)('every screen of the console', () => {
  let demo: Demo
  let browser: Browser

  beforeAll(async () => {
    demo = await startDemo()
    browser = sharedBrowser()
  })
  afterAll(async () => {
    await demo?.stop()
  })

  /**
   * Resolves when the screen is shown with its data. The previous screen stays until the code of the next one is
   * loaded.
   */
  async function open(page: Page, screen: string, hash: string): Promise<void> {
    await page.goto(`${demo.served.origin}/${hash}`)
    const name = HEADINGS.get(screen)
    if (name === undefined) throw new Error(`the heading of ${screen} is not known`)
    await page.getByRole('heading', { level: 1, name }).waitFor()
    await expect.poll(async () => page.locator('.waiting').count()).toBe(0)
  }

  test.each(['light', 'dark'] as const)(
    'is accessible in its %s theme, and reports no error and no violation of its policy',
    { timeout: 240_000 },
    async (colorScheme) => {
      const { page, problems } = await openPage(browser, { colorScheme })
      await signIn(page, demo.served.origin)
      const found: Record<string, string[]> = {}
      let checks = 0
      for (const [screen, hash] of Object.entries(demo.screens)) {
        await open(page, screen, hash)
        const { passes, violations } = await checkAccessibility(page)
        checks += passes
        if (violations.length > 0) found[screen] = violations
      }
      expect(found).toEqual({})
      expect(checks).toBeGreaterThan(100)
      expect(problems).toEqual([])
      await page.context().close()
    },
  )

  test('the screen of a model names what its chat template cannot print', async () => {
    const { page } = await openPage(browser)
    await signIn(page, demo.served.origin)
    await open(page, 'model', demo.screens['model'] ?? '')
    const lacking = page.getByText('cannot print: tools; several system messages.')
    await expect.poll(async () => lacking.count()).toBe(1)
    await page.context().close()
  })

  test('fits a width of 375 px: nothing but tables scrolls sideways', async () => {
    const { page } = await openPage(browser, { viewport: { width: 375, height: 720 } })
    await signIn(page, demo.served.origin)
    const wide: string[] = []
    for (const [screen, hash] of Object.entries(demo.screens)) {
      await open(page, screen, hash)
      const width = await page.evaluate<number>('document.documentElement.scrollWidth')
      if (width > 375) wide.push(`${screen}: ${width} px`)
    }
    expect(wide).toEqual([])
    await page.context().close()
  })

  test('opens with at most 25 requests and 90 KB, all to its own origin, and again with at most 5 KB', async () => {
    const { page } = await openPage(browser)
    await signIn(page, demo.served.origin)
    const debug = await page.context().newCDPSession(page)
    await debug.send('Network.enable')
    async function open(): Promise<{ bytes: number; urls: string[] }> {
      const urls: string[] = []
      let bytes = 0
      const onRequest = ({ request }: { request: { url: string } }) => urls.push(request.url)
      const onData = ({ encodedDataLength }: { encodedDataLength: number }) => (bytes += encodedDataLength)
      debug.on('Network.requestWillBeSent', onRequest)
      debug.on('Network.loadingFinished', onData)
      await page.goto('about:blank')
      await page.goto(`${demo.served.origin}/#/accounts`)
      await page.getByRole('table').waitFor()
      debug.off('Network.requestWillBeSent', onRequest)
      debug.off('Network.loadingFinished', onData)
      return { bytes, urls: urls.filter((url) => url !== 'about:blank') }
    }
    await debug.send('Network.clearBrowserCache')
    const cold = await open()
    expect(cold.bytes).toBeGreaterThan(10_000)
    expect(cold.bytes).toBeLessThan(90_000)
    expect(cold.urls.length).toBeLessThanOrEqual(25)
    expect(cold.urls.filter((url) => !url.startsWith(`${demo.served.origin}/`))).toEqual([])
    const warm = await open()
    expect(warm.bytes).toBeLessThanOrEqual(5_000)
    await page.context().close()
  })

  test('a picture that no longer comes is grey after 5 s, with its time', async () => {
    const { page } = await openPage(browser)
    await signIn(page, demo.served.origin)
    await page.getByText('No problem').or(page.getByText('1 problem')).waitFor()
    expect(await page.locator('.stale').count()).toBe(0)
    demo.live.freeze()
    await page.getByText(/as of \d\d:\d\d:\d\d UTC, connection lost/).waitFor()
    expect(await page.locator('.stale').count()).toBe(1)
    await page.context().close()
  })
})
