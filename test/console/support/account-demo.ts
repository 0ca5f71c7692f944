import { z } from 'zod'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { sharedCluster, type SharedCluster } from '#test/support/shared-cluster.ts'
import type { Page } from 'playwright-core'
import { askDemo, waitUntilSettled } from './settled.ts'

/** A name that would run as a script if the page inserted it as HTML. */
export const HOSTILE = '<img src=x onerror=alert(1)>'

export type AccountDemo = {
  cluster: SharedCluster
  /** The address of the page. */
  url: string
  accountId: string
  keys: {
    /** A key with requests, limits, and a hostile name. */
    full: string
    /** A key without any request or limit. */
    empty: string
    /** A management key: its page shows the account's keys, because it has no requests. */
    manager: string
  }
  /** The ids of the settled requests of the key `full`. */
  requests: readonly string[]
  /** Every screen by its name, with its address. */
  screens: Readonly<Record<string, string>>
}

/** Creates an account of the shared cluster with a key that has everything to show, and a key that has nothing. */
export async function createAccountDemo(): Promise<AccountDemo> {
  const cluster = await sharedCluster()
  const { admin } = cluster
  const { id: account, apiKey: empty } = await cluster.createAccount('81.4')
  const { secret: manager } = await admin.call(ADMIN.createManagementKey, { account, name: 'ann' })
  // The account itself creates this key. It could not do so beside a key that an operator has limited.
  const made = await fetch(`${cluster.baseUrl}/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${manager}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: HOSTILE,
      limit: 25,
      limit_reset: 'monthly',
      requests_per_minute: 600,
      models: ['demo-chat'],
      expires_at: new Date(Date.now() + 90 * 24 * 60 * 60_000).toISOString(),
    }),
  })
  const { key: full } = z.object({ key: z.string() }).parse(await made.json())
  const requests: string[] = []
  for (const tokens of [20, 60, 120]) requests.push(await askDemo(cluster, { apiKey: full, tokens }))
  await waitUntilSettled(cluster, requests)
  const [request = ''] = requests
  return {
    cluster,
    url: cluster.baseUrl.replace(/v1$/, 'account'),
    accountId: account,
    keys: { full, empty, manager },
    requests,
    screens: {
      overview: '#/',
      requests: '#/requests',
      request: `#/request/${request}`,
      'request-unknown': '#/request/00000000-0000-4000-8000-000000000000',
      use: '#/use',
      keys: '#/keys',
    },
  }
}

/** Opens the page, types the key, and resolves when the page shows the first screen of the key. */
export async function signInWithKey(page: Page, url: string, apiKey: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('API key').fill(apiKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Screens' }).waitFor()
}

/** The beginnings of the screens' headings, by the first part of their addresses. */
const HEADINGS = new Map([
  ['', 'Overview'],
  ['requests', 'Requests'],
  ['request', 'Request'],
  ['use', 'Use it'],
  ['keys', 'Keys'],
])

/**
 * Goes to another screen as a link does, because a newly loaded document would have lost the key. Resolves when that
 * screen is shown; the previous screen stays until then.
 */
export async function goTo(page: Page, hash: string): Promise<void> {
  const [, first = ''] = hash.split('/')
  const name = new RegExp(`^${HEADINGS.get(first) ?? 'There is no such screen'}\\b`)
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  await page.getByRole('heading', { level: 1, name }).waitFor()
}
