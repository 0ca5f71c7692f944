import { z } from 'zod'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { sharedCluster, type SharedCluster } from '#test/support/shared-cluster.ts'
import type { Page } from 'playwright-core'
import { askDemo, waitUntilSettled } from './settled.ts'

/** A name that would run as a script where text became HTML. */
export const HOSTILE = '<img src=x onerror=alert(1)>'

export type AccountDemo = {
  cluster: SharedCluster
  /** The address of the page. */
  url: string
  accountId: string
  keys: {
    /** With requests, limits, and a hostile name. */
    full: string
    /** Without any request or limit. */
    empty: string
    /** A management key: of the account's keys instead of requests of its own. */
    manager: string
  }
  /** Settled requests of the full key. */
  requests: readonly string[]
  /** Every screen by its name, with its address. */
  screens: Readonly<Record<string, string>>
}

/** An account of the shared cluster whose keys have everything to show, and one that has nothing. */
export async function createAccountDemo(): Promise<AccountDemo> {
  const cluster = await sharedCluster()
  const { admin } = cluster
  const { id: account, apiKey: empty } = await cluster.createAccount('81.4')
  const { secret: manager } = await admin.call(ADMIN.createManagementKey, { account, name: 'ann' })
  // By the account itself: beside a key that an operator has limited, it could not make others.
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

/** Opens the page, types the key, and resolves when the page shows what it is for. */
export async function signInWithKey(page: Page, url: string, apiKey: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('API key').fill(apiKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Screens' }).waitFor()
}

/** What the headings of the screens begin with, by the first part of their addresses. */
const HEADINGS = new Map([
  ['', 'Overview'],
  ['requests', 'Requests'],
  ['request', 'Request'],
  ['use', 'Use it'],
  ['keys', 'Keys'],
])

/**
 * Goes to another screen as a link does: a new document would have forgotten the key. Resolves when that screen is there;
 * the one before stays until then.
 */
export async function goTo(page: Page, hash: string): Promise<void> {
  const [, first = ''] = hash.split('/')
  const name = new RegExp(`^${HEADINGS.get(first) ?? 'There is no such screen'}\\b`)
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  await page.getByRole('heading', { level: 1, name }).waitFor()
}
