import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import { chat, type ChatAnswer } from '../support/chat.ts'
import type { TestAccount } from '../support/cluster.ts'
import { startFaultyCluster, type FaultyCluster } from '../support/faulty-cluster/faulty-cluster.ts'

// A standby of PostgreSQL is promoted under load, and the address that every billing has leads to it. The standby has
// each commit before it is answered, so no credit may be lost or spent twice.

const ENGINE = { model: 'demo-chat', files: 'demo', maxNumSeqs: 16, stepMs: 5 }
const CALLERS = 4

let cluster: FaultyCluster
let account: TestAccount

beforeAll(async () => {
  cluster = await startFaultyCluster({
    gateways: 2,
    workers: 1,
    billings: 2,
    engines: [ENGINE],
    hasStandby: true,
  })
  account = await cluster.createAccount('100')
})
afterAll(() => cluster.stop())

test.each(['killed', 'read-only'] as const)(
  'a standby becomes the primary, and the former one is %s: calls are refused for a moment, and nothing is lost',
  async (former) => {
    const before = await posted()
    const asked: ChatAnswer[] = []
    const served = () => asked.filter(({ status }) => status === 200)
    const over = new AbortController()
    const callers = Array.from({ length: CALLERS }, async (_each, caller) => {
      const { baseUrl } = cluster.gateways[caller % 2] ?? { baseUrl: '' }
      while (!over.signal.aborted) {
        asked.push(await chat({ baseUrl, apiKey: account.apiKey, model: 'demo-chat', content: 'Hi' }))
        await pause(20)
      }
    })
    const servedMore = async () => {
      const have = served().length
      await expect.poll(() => served().length).toBeGreaterThan(have + 5 * CALLERS)
    }
    try {
      await servedMore()
      await cluster.failOver(former)
      await servedMore()
      // A change by an operator goes to a pool of its own.
      await cluster.createAccount('1')
    } finally {
      over.abort()
      await Promise.all(callers)
    }

    const refused = asked.filter(({ status }) => status !== 200)
    expect(refused).toEqual(
      refused.map(() =>
        expect.objectContaining({
          status: 503,
          error: expect.objectContaining({ code: 'model_unavailable' }),
        }),
      ),
    )
    await expectBalancedBooks(cluster, [account], 200_000)
    const spent = before - (await posted())
    expect(spent).toBe(BigInt(served().length) * (await costOfOne()))
    expect(cluster.billings.flatMap((billing) => billing.problems())).toEqual([])
    expect(cluster.billings.map((billing) => billing.pids().length)).toEqual([1, 1])
  },
)

async function posted(): Promise<bigint> {
  return (await cluster.balance(account)).posted
}

async function costOfOne(): Promise<bigint> {
  const [gateway] = cluster.gateways
  if (gateway === undefined) throw new Error('there is no gateway')
  const before = await posted()
  expect(await chat({ ...gateway, apiKey: account.apiKey, model: 'demo-chat', content: 'Hi' })).toMatchObject(
    {
      status: 200,
    },
  )
  await expectBalancedBooks(cluster, [account])
  return before - (await posted())
}
