import { expect } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import {
  largeHostileBodies,
  smallHostileBodies,
  type HostileBody,
} from '../../bench/harness/hostile-bodies.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { chatOk } from '../support/chat.ts'
import { test, type Endpoint } from '../support/cluster-test.ts'
import { IS_LONG, runs } from '../support/long.ts'
import type { SharedCluster } from '../support/shared-cluster.ts'
import { startChatOk } from '../support/start-chat.ts'

const MODELS = { chat: 'demo-chat', embedding: 'demo-embed' }
const SMALL = smallHostileBodies(MODELS)
/**
 * The short form sends each small body a few times. The long form also sends bodies of megabytes, on 100 connections.
 */
const BODIES = IS_LONG ? [...SMALL, ...largeHostileBodies(MODELS)] : SMALL
const CONNECTIONS = runs(8, 100)
const TIMES = runs(2, 10)

const bodiesOnThread = async (cluster: SharedCluster) =>
  await cluster.metric(cluster.gateways[0], 'millrace_http_bodies_total', { place: 'thread' })

async function createPoorKey({ admin }: SharedCluster): Promise<string> {
  const { id } = await admin.call(ADMIN.createAccount, { name: 'attacker' })
  return (await admin.call(ADMIN.createKey, { account: id, name: 'attacker' })).secret
}

/** Sends each body several times, on several connections. Resolves with the statuses. */
async function sendAll({ baseUrl, apiKey }: Endpoint, bodies: readonly HostileBody[]): Promise<number[]> {
  const waiting = Array.from({ length: TIMES }, () => bodies).flat()
  const statuses: number[] = []
  async function follow() {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const response = await fetch(baseUrl + next.path, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}` },
        body: next.body,
      })
      await response.text()
      statuses.push(response.status)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, follow))
  return statuses
}

test.for<[string, (cluster: SharedCluster) => Promise<string>]>([
  ['without credits', createPoorKey],
  ['with credits', async (cluster) => (await cluster.createAccount('1')).apiKey],
])(
  'an account %s sends bodies made to be dear: its neighbour’s streams are whole',
  async ([, createKey], { cluster, account, endpoint }) => {
    const apiKey = await createKey(cluster)
    const streams = Array.from({ length: 3 }, () =>
      startChatOk({ ...endpoint, content: 'Talk [[tokens=600]]' }),
    )
    await Promise.all(streams.map(async ({ firstText }) => await firstText))
    const statuses = await sendAll({ baseUrl: cluster.baseUrl, apiKey }, BODIES)
    // A 200 is for a valid schema whose pattern has thousands of groups, from an account with credits.
    for (const status of statuses) expect([200, 400, 402, 429, 503]).toContain(status)
    expect(statuses).toHaveLength(TIMES * BODIES.length)
    for (const { answer } of streams) {
      expect(await answer).toMatchObject({ finishReason: 'stop', completionTokens: 601 })
    }
    await expectBalancedBooks(cluster, [account])
  },
)

test('no body of many values and none with a schema is prepared on the event loop', async ({ cluster }) => {
  const { apiKey } = await cluster.createAccount('1')
  const before = await bodiesOnThread(cluster)
  const statuses = await sendAll({ baseUrl: cluster.baseUrl, apiKey }, SMALL.slice(0, 5))
  const read = statuses.filter((status) => status === 400).length
  expect(read).toBe(TIMES * 5)
  expect(await bodiesOnThread(cluster)).toBeGreaterThanOrEqual(before + read)
})

test('an account whose bodies are refused too often is 429 with a time to wait, and nobody else is', async ({
  cluster,
  endpoint,
}) => {
  const { apiKey } = await cluster.createAccount('1')
  const send = async () =>
    await fetch(`${cluster.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: '{}',
    })
  // Status and header must be read from one response: a moment later, another body may be accepted again.
  const statusAndWait = async () => {
    const { status, headers } = await send()
    return `${status} ${headers.get('retry-after')}`
  }
  await expect.poll(statusAndWait, { interval: 1 }).toMatch(/^429 \d+$/)
  const answer = await chatOk({ ...endpoint, content: 'Hi' })
  expect(answer.text).toBe('You said: Hi')
})
