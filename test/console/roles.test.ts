import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { TestAccount } from '#test/support/cluster.ts'
import { sharedCluster, type SharedCluster } from '#test/support/shared-cluster.ts'
import { FILE_MODELS } from '#test/support/shared-models.ts'
import { HAS_BROWSER, openPage } from './support/browser.ts'
import { signIn, startConsole, type TestConsole } from './support/console-server.ts'
import { startStream } from './support/live-cluster.ts'
import { sharedBrowser } from './support/shared-browser.ts'

/** The names of buttons that change something, by the roles that have them. A row's button begins with the action. */
const CUSTOMERS = [
  'Adjust',
  'Close account',
  'New account',
  'New key',
  'Top up',
  'change test',
  'disable test',
  'revoke test',
  'rotate test',
]
const SERVICE = ['Compare the books now', 'Publish a file', 'change demo-chat', 'release']
const OWNER = ['New credential', 'revoke seen-by-owner']
const EXPECTED = {
  owner: [...CUSTOMERS, ...SERVICE, ...OWNER],
  support: CUSTOMERS,
  ops: SERVICE,
  viewer: [],
} as const

/** The expression leaves out the buttons in headings, which only sort. */
const NAMES_OF_BUTTONS = `[...document.querySelectorAll('main button:not(.sort)')].map((button) =>
  (button.getAttribute('aria-label') ?? button.textContent ?? '').trim())`

describe.skipIf(!HAS_BROWSER)('the roles of operators in the console', () => {
  let cluster: SharedCluster
  let account: TestAccount
  let served: TestConsole
  let browser: Browser
  let stream: Awaited<ReturnType<typeof startStream>>

  beforeAll(async () => {
    cluster = await sharedCluster()
    account = await cluster.createAccount('10')
    served = await startConsole({ billingUrl: cluster.adminUrl })
    browser = sharedBrowser()
    const { model } = FILE_MODELS.roles.engine
    stream = await startStream(cluster, { apiKey: account.apiKey, tokens: 2_000, model })
  })
  afterAll(async () => {
    stream?.leave()
    await served?.stop()
  })

  test.each(['owner', 'support', 'ops', 'viewer'] as const)(
    'the page of the role %s has the buttons of what it may do, and no other',
    async (role) => {
      const { token } = await cluster.admin.call(ADMIN.createCredential, { name: `seen-by-${role}`, role })
      const { page } = await openPage(browser)
      await signIn(page, served.origin, token)
      const found: string[] = []
      // The previous screen stays until the code of the next one is loaded, so a table alone does not show that it is
      // there.
      for (const [hash, shown] of Object.entries({
        '#/accounts': 'main:has(h1:text-is("Accounts")) table',
        [`#/account/${account.id}`]: 'main section:has(h2:text-is("Open holds")) table',
        // This is not the table of the chart, which is folded up.
        '#/money': 'main:has(h1:text-is("Money")) table:visible',
        '#/catalog': 'main:has(h1:text-is("Catalog")) table',
        '#/log': 'main:has(h1:text-is("Log")) table',
      })) {
        await page.goto(`${served.origin}/${hash}`)
        await page.locator(shown).first().waitFor()
        await expect.poll(async () => page.locator('.waiting').count()).toBe(0)
        expect(await page.getByRole('alert').allInnerTexts()).toEqual([])
        found.push(...(await page.evaluate<string[]>(NAMES_OF_BUTTONS)))
      }
      const all: readonly string[] = EXPECTED.owner
      expect(new Set(found.filter((name) => all.includes(name)))).toEqual(new Set<string>(EXPECTED[role]))
    },
  )
})
