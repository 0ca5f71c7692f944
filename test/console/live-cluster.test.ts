import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Locator, Page } from 'playwright-core'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { signInWithKey } from './support/account-demo.ts'
import { HAS_BROWSER, openPage } from './support/browser.ts'
import { signIn } from './support/console-server.ts'
import { startLiveCluster, startStream, type LiveCluster } from './support/live-cluster.ts'
import { sharedBrowser } from './support/shared-browser.ts'

/** A mark in the page that is lost when the page is loaded again. */
const MARK = 'window.wasNotLoadedAgain'

describe.skipIf(!HAS_BROWSER)('the console before a real cluster', () => {
  let live: LiveCluster
  let browser: Browser

  beforeAll(async () => {
    // One token each 50 ms, so that a stream lasts long enough to be seen.
    live = await startLiveCluster({ workers: [[{ model: 'demo-chat', files: 'demo', stepMs: 50 }]] })
    browser = sharedBrowser()
  })
  afterAll(async () => {
    await live?.stop()
  })

  async function openNow(): Promise<{ page: Page; problems: string[] }> {
    const { page, problems } = await openPage(browser)
    await signIn(page, live.origin)
    await rowOf(page).waitFor()
    return { page, problems }
  }

  const running = (page: Page, count: number) => rowOf(page).getByText(new RegExp(`^${count}/\\d+`))

  test('a claim in a worker is a running request in the row of its model, until it ends', async () => {
    const { page } = await openNow()
    await running(page, 0).waitFor()
    const { apiKey } = await live.cluster.createAccount('10')
    const stream = await startStream(live.cluster, { apiKey, tokens: 400 })
    const claimedMs = performance.now()
    await running(page, 1).waitFor()
    console.info(`a claim was visible after ${Math.round(performance.now() - claimedMs)} ms`)
    await page.goto(`${live.origin}/#/model/demo-chat`)
    await page.locator(`a[href="#/request/${stream.id}"]`).waitFor()
    await page.getByText('Its chat template can print every conversation.').waitFor()
    await page.goto(`${live.origin}/#/`)
    stream.leave()
    await stream.end
    await running(page, 0).waitFor()
    expect(await rowOf(page).count()).toBe(1)
  })

  test("the screen of a request follows it to its receipt, whose every number is billing's", async () => {
    const { page } = await openNow()
    const { id: account, apiKey } = await live.cluster.createAccount('10')
    const stream = await startStream(live.cluster, { apiKey, tokens: 60 })
    await page.goto(`${live.origin}/#/request/${stream.id}`)
    await page.getByRole('heading', { level: 1, name: 'Request running' }).waitFor()
    await page.getByText('Times are known when it has ended.').waitFor()
    await stream.end
    await page.getByRole('heading', { name: 'Charge' }).waitFor()
    // The times arrive after the charge; the page shows them without a reload.
    await page.getByRole('heading', { level: 1, name: 'Request completed · length' }).waitFor()

    const { settlement, hold, prices, timing } = await live.cluster.admin.call(ADMIN.readRequest, {
      request: stream.id,
    })
    if (settlement === null || hold === null || prices === null || timing === null)
      throw new Error('billing has no receipt')
    const fresh = settlement.promptTokens - settlement.cachedTokens
    expect(settlement.completionTokens).toBe(60)
    expect(BigInt(settlement.costNano)).toBe(
      costOf([
        [fresh, prices.inputPriceNano],
        [settlement.cachedTokens, prices.cachedInputPriceNano],
        [settlement.completionTokens, prices.outputPriceNano],
      ]),
    )
    expect(await numbersOf(page)).toEqual({
      'Charge: Input': [String(fresh), toCredits(prices.inputPriceNano)],
      'Charge: Cached input': [String(settlement.cachedTokens), toCredits(prices.cachedInputPriceNano)],
      'Charge: Output': [String(settlement.completionTokens), toCredits(prices.outputPriceNano)],
      'Charge: Cost': [settlement.costNano],
      'Charge: Charged': [toCredits(settlement.chargedNano)],
      'Charge: Written off': [toCredits(settlement.writtenOffNano)],
      'Hold: Held': [
        toCredits(hold.amountNano),
        toCredits(String(BigInt(hold.amountNano) - BigInt(settlement.chargedNano))),
      ],
      'Hold: Input': [
        String(hold.estimatedInputTokens),
        ...(hold.exactInputTokens === null ? [] : [String(hold.exactInputTokens)]),
      ],
      'Hold: Output': [String(hold.wantedTokens), String(hold.grantedTokens)],
    })
    await page.getByText(`version ${prices.version}, since`).waitFor()
    await page.getByText(`attempt ${settlement.epoch}`).waitFor()
    expect(timing).toMatchObject({ ranMs: expect.any(Number), firstTokenMs: expect.any(Number) })
    await page.getByText(`wrote ${settlement.completionTokens} tokens in`).waitFor()

    // The only request of its account is all of the account's usage.
    await page.goto(`${live.origin}/#/account/${account}`)
    const sums = page.getByRole('region', { name: 'Usage by model' }).locator('.money')
    expect(await sums.first().getAttribute('data-copy')).toBe(settlement.chargedNano)
    expect(await sums.last().getAttribute('data-copy')).toBe(settlement.writtenOffNano)
  })

  test('a console that restarts under an open page: grey meanwhile, then live again without a reload', async () => {
    const { page } = await openNow()
    await page.evaluate(`${MARK} = true`)
    await live.killConsole()
    await page.getByText(/as of .* UTC, connection lost/).waitFor()
    expect(await page.locator('.stale').count()).toBe(1)
    await live.startConsole()
    await page.getByText(/^as of [\d:]+ UTC$/).waitFor()
    expect(await page.locator('.stale').count()).toBe(0)
    // Billing has the session, so the session has outlived the console.
    const { id } = await live.cluster.admin.call(ADMIN.createAccount, { name: 'after the restart' })
    await page.getByRole('link', { name: 'Accounts' }).click()
    await page.locator(`a[href="#/account/${id}"]`).waitFor()
    expect(await page.evaluate(MARK)).toBe(true)
  })

  test('Redis away: both banners and a problem, the last picture stays, and it returns by itself', async () => {
    const { page } = await openNow()
    await page.evaluate(`${MARK} = true`)
    await live.cluster.redis.stop()
    await page.getByText(/The queue Redis has not answered for/).waitFor()
    await page.getByText(/No message came over the bus for/).waitFor()
    await page.getByText(/The queue Redis has not answered this console for/).waitFor()
    await rowOf(page).waitFor()
    await live.cluster.redis.start()
    await expect.poll(async () => page.getByText(/has not answered|No message came/).count(), WAIT).toBe(0)
    await page.getByText('No problem').waitFor()
    expect(await page.evaluate(MARK)).toBe(true)
  })

  test('billing away: the live picture goes on, screens of billing say so and try again', async () => {
    const { page } = await openNow()
    await page.evaluate(`${MARK} = true`)
    await live.cluster.billing.kill()
    await page.getByText(/The state of the books is not known: Billing does not answer/).waitFor()
    expect(await page.locator('.stale').count()).toBe(0)
    await page.getByRole('link', { name: 'Accounts' }).click()
    await page.getByText('Billing does not answer; nothing was done.').waitFor()
    await live.cluster.restartBilling()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('table').waitFor()
    await page.getByRole('link', { name: 'Now' }).click()
    await rowOf(page).waitFor()
    await expect.poll(async () => page.getByText('The state of the books is not known').count(), WAIT).toBe(0)
    expect(await page.evaluate(MARK)).toBe(true)
  })

  test('billing away: the account page says that accounts cannot be read, and goes on by itself when it is back', async () => {
    const { apiKey } = await live.cluster.createAccount('10')
    const { page } = await openPage(browser)
    await signInWithKey(page, live.cluster.baseUrl.replace(/v1$/, 'account'), apiKey)
    await page.locator('.spendable').waitFor()
    await live.cluster.billing.stop()
    await page
      .getByRole('alert')
      .getByText('Accounts cannot be read at the moment.')
      .first()
      .waitFor({ timeout: 30_000 })
    // The page keeps the values that it has read before.
    expect(await page.locator('.spendable').count()).toBe(1)
    await live.cluster.restartBilling()
    await expect.poll(async () => page.getByRole('alert').count(), { timeout: 60_000 }).toBe(0)
  })

  test('a viewer whose credential is revoked loses the picture, and is asked to sign in', async () => {
    const { admin } = live.cluster
    const made = await admin.call(ADMIN.createCredential, { name: 'for a while', role: 'viewer' })
    const { page } = await openPage(browser)
    await signIn(page, live.origin, made.token)
    // This screen asks billing for nothing, so only its stream ends.
    await page.goto(`${live.origin}/#/workers`)
    await page.getByText(/^as of [\d:]+ UTC$/).waitFor()
    await admin.call(ADMIN.revokeCredential, { credential: made.id })
    await page.getByText('Your session has ended.').waitFor({ timeout: 60_000 })
    expect(await page.getByLabel('Token of your credential').count()).toBe(1)
  })
})

const WAIT = { timeout: 60_000 }

/** Returns the row of demo-chat on the screen Now. */
function rowOf(page: Page): Locator {
  return page.locator('tr', { has: page.locator('a[href="#/model/demo-chat"]') })
}

/** Computes a cost as docs/billing.md does: prices are for 1,000,000 tokens, and the sum is rounded up. */
function costOf(parts: readonly (readonly [tokens: number, price: string])[]): bigint {
  const sum = parts.reduce((total, [tokens, price]) => total + BigInt(tokens) * BigInt(price), 0n)
  return (sum + 999_999n) / 1_000_000n
}

/** Formats nano-credits as credits, with every digit. */
function toCredits(nano: string): string {
  const digits = nano.padStart(10, '0')
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`.replace(/\.?0+$/, '')
}

/** Returns every number of the receipt by its section and name, without the commas of thousands. Times are left out. */
async function numbersOf(page: Page): Promise<Record<string, readonly string[]>> {
  const found: Record<string, readonly string[]> = {}
  for (const section of ['Charge', 'Hold']) {
    const list = page.locator('section', { has: page.getByRole('heading', { name: section, exact: true }) })
    const names = await list.locator('dt').allTextContents()
    const values = await list.locator('dd').allTextContents()
    for (const [index, name] of names.entries()) {
      if (['Prices', 'State', 'Made', 'Closed', 'May expire'].includes(name)) continue
      const text = (values[index] ?? '').replaceAll('a million', '')
      found[`${section}: ${name}`] = (text.match(/\d[\d,]*(?:\.\d+)?/g) ?? []).map((number) =>
        number.replaceAll(',', ''),
      )
    }
  }
  return found
}
