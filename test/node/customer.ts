import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { createAdminClient } from '#libs/admin-contract/admin-client.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { HoldPrices } from '#libs/billing-client/billing-calls.ts'
import { priceTokens } from '../support/price-tokens.ts'
import type { StreamedAnswer } from '../support/sse-events.ts'
import { startChatOk } from '../support/start-chat.ts'
import type { Release } from './release.ts'

export type Customer = {
  readonly apiKey: string
  /** Starts a stream of this many tokens. The same number gives the same text. The stream must end with an answer. */
  start(model: string, tokens: number): ReturnType<typeof startChatOk>
  /** Runs `body`, then expects that the account is charged once for each answer with which `body` resolves. */
  expectCharged(prices: HoldPrices, body: () => Promise<readonly StreamedAnswer[]>): Promise<void>
}

/** Creates an account with credits and a key through billing's admin interface. */
export async function createCustomer(release: Release, token: string): Promise<Customer> {
  const admin = createAdminClient({ url: release.adminUrl, token })
  const { id: account } = await admin.call(ADMIN.createAccount, { name: 'test' })
  const [idempotencyKey, reason] = [randomUUID(), 'test']
  await admin.call(ADMIN.topUp, { account, credits: '1000', idempotencyKey, reason })
  const { secret: apiKey } = await admin.call(ADMIN.createKey, { account, name: 'test' })

  /** Resolves with the account's balance when nothing is held. */
  async function posted(): Promise<bigint> {
    const read = async () => await admin.call(ADMIN.readAccount, { account })
    await expect.poll(async () => (await read()).openHolds, { timeout: 90_000 }).toBe(0)
    return BigInt((await read()).postedNano)
  }

  return {
    apiKey,
    start: (model, tokens) =>
      startChatOk({ baseUrl: release.baseUrl, apiKey, model, content: `Talk [[tokens=${tokens}]]` }),
    async expectCharged(prices, body) {
      const before = await posted()
      const answers = await body()
      const costs = answers.map(({ promptTokens, cachedTokens, completionTokens }) =>
        priceTokens({ input: promptTokens, cachedInput: cachedTokens, output: completionTokens }, prices),
      )
      expect(costs.length).toBeGreaterThan(0)
      const total = costs.reduce((sum: bigint, cost) => sum + cost, 0n)
      expect(before - (await posted())).toBe(total)
      const { counts } = await admin.call(ADMIN.reconcile, {})
      expect(counts.length).toBeGreaterThan(5)
      expect(counts.filter(({ rows }) => rows !== 0)).toEqual([])
    },
  }
}
