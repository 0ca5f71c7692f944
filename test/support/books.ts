import { expect } from 'vitest'
import type { AccountCalls, TestAccount } from './cluster.ts'

/**
 * Waits until nothing is held any more, then checks every question of billing's reconciliation. A new
 * billing claims the unacknowledged settlements of a killed one after 30 s, hence the longer limit.
 */
export async function expectBalancedBooks(
  cluster: AccountCalls,
  accounts: readonly TestAccount[],
  limitMs = 75_000,
): Promise<void> {
  for (const account of accounts) {
    await expect.poll(async () => (await cluster.balance(account)).openHolds, { timeout: limitMs }).toBe(0)
  }
  const counts = await cluster.reconcile()
  expect(Object.keys(counts).length).toBeGreaterThan(5)
  expect(counts).toEqual(Object.fromEntries(Object.keys(counts).map((question) => [question, 0])))
}
