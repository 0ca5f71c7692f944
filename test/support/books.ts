import { expect } from 'vitest'
import type { AccountCalls, TestAccount } from './cluster.ts'

/**
 * Waits until nothing is held, then checks that every count of billing's reconciliation is zero. The limit is long,
 * because the settlements that a killed billing process had not acknowledged are claimed by a new process, but only
 * after 30 s.
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
