import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { expectBalancedBooks } from '../support/books.ts'
import type { TestAccount } from '../support/cluster.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { FILE_MODELS } from '../support/shared-models.ts'

/** The model's engine runs four generations at a time. */
const { model } = FILE_MODELS['fair-share'].engine

/** The tokens of both accounts over which their shares are compared. What runs at either end has 400 at most. */
const MEASURED_TOKENS = 20_000

let cluster: SharedCluster

beforeAll(async () => {
  cluster = await sharedCluster()
})

const Answer = z.object({ usage: z.object({ total_tokens: z.int() }) })

/** Sends requests of one length, one after the other, from each of `clients` clients. */
function saturate(account: TestAccount, { clients, tokens }: { clients: number; tokens: number }) {
  let used = 0
  const over = new AbortController()
  async function client() {
    while (!over.signal.aborted) {
      const response = await fetch(`${cluster.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${account.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: `Talk [[tokens=${tokens}]]` }] }),
      })
      const text = await response.text()
      if (response.status !== 200) throw new Error(`HTTP ${response.status}: ${text}`)
      used += Answer.parse(JSON.parse(text)).usage.total_tokens
    }
  }
  const all = Promise.all(Array.from({ length: clients }, client))
  return {
    used: () => used,
    async end() {
      over.abort()
      await all
    },
  }
}

test('two accounts that saturate a model share its tokens by their weights, whatever the sizes of their requests', async () => {
  const [large, small] = [await cluster.createAccount('100'), await cluster.createAccount('100')]
  const ofLarge = saturate(large, { clients: 6, tokens: 80 })
  const ofSmall = saturate(small, { clients: 8, tokens: 10 })

  /** Returns how many tokens the account with large requests gets for each token of the other one. */
  async function measure(tokens = MEASURED_TOKENS): Promise<number> {
    const [first, second] = [ofLarge.used(), ofSmall.used()]
    const since = () => [ofLarge.used() - first, ofSmall.used() - second] as const
    await expect.poll(() => since()[0] + since()[1]).toBeGreaterThan(tokens)
    return since()[0] / since()[1]
  }

  try {
    // The lengths of both are learned meanwhile.
    await measure(8_000)
    const equal = await measure()
    await cluster.admin.call(ADMIN.changeAccount, { account: large.id, weight: 3 })
    // The requests that wait keep their places.
    await measure(3_000)
    const three = await measure()
    expect(equal).toBeGreaterThan(0.95)
    expect(equal).toBeLessThan(1.05)
    expect(three).toBeGreaterThan(3 * 0.95)
    expect(three).toBeLessThan(3 * 1.05)
  } finally {
    await Promise.all([ofLarge.end(), ofSmall.end()])
  }
  await expectBalancedBooks(cluster, [large, small])
})
