import type { ClientBase } from 'pg'
import { expect } from 'vitest'
import { inTransaction } from '#apps/billing/database/open-pool.ts'
import type { SpendPeriod } from '#apps/billing/database/tables.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { only, settlement, type BillingDatabase } from '../support/billing-database.ts'
import { test as base } from '../support/billing-test.ts'
import { createLimitedKey, hold, spend } from '../support/single-calls.ts'

// Each call holds and costs 700. The clock begins at midnight of a Tuesday that is the first of a month.

const DAY_MS = 86_400_000
const LIMIT = '100000'

const test = base.extend(
  'change',
  ({ database }) =>
    (key: string, period: SpendPeriod, amountNano = LIMIT) =>
      database.operator.call(ADMIN.changeKey, { key, spendLimit: { amountNano, period } }),
)

/** A Monday, the first of a month. */
const MONDAY_MS = Date.parse('2030-04-01T00:00:00Z')

test('a changed period forgets nothing that was spent in the period under limits of other kinds', async ({
  database,
  change,
}) => {
  const { keyId } = await createLimitedKey(database, { spendLimit: { amountNano: LIMIT, period: 'day' } })
  for (const period of ['month', 'total', 'week', 'day'] as const) {
    expect(await spend(database, keyId)).toBe('granted')
    await change(keyId, period)
  }
  expect(await counted(database, keyId)).toEqual({ spentNano: '2800', heldNano: '0' })
  await change(keyId, 'week', '2800')
  expect(await spend(database, keyId)).toBe('key-limit')
  await change(keyId, 'day', '3500')
  expect([await spend(database, keyId), await spend(database, keyId)]).toEqual(['granted', 'key-limit'])
})

test('a changed period counts each request in the periods in which it was charged, also where periods begin together', async ({
  database,
  change,
}) => {
  database.clock.nowMs = MONDAY_MS - DAY_MS
  const { keyId } = await createLimitedKey(database, { spendLimit: { amountNano: LIMIT, period: 'day' } })
  // The key spends on a Sunday, a Monday and a Tuesday.
  for (const _day of [1, 2, 3]) {
    expect(await spend(database, keyId)).toBe('granted')
    database.clock.nowMs += DAY_MS
  }
  expect(await spend(database, keyId)).toBe('granted')
  const spent = []
  for (const period of ['week', 'month', 'total', 'day', 'month', 'week', 'day'] as const) {
    await change(keyId, period)
    spent.push((await counted(database, keyId)).spentNano)
  }
  expect(spent).toEqual(['2100', '2100', '2800', '700', '2100', '2100', '700'])
})

test('a changed period takes open holds of the period, so that each counts once when it ends', async ({
  database,
  change,
}) => {
  const { keyId } = await createLimitedKey(database, { spendLimit: { amountNano: LIMIT, period: 'day' } })
  const [settled, released, earlier] = [
    await hold(database, keyId),
    await hold(database, keyId),
    await hold(database, keyId),
  ]
  await change(keyId, 'total')
  expect(await counted(database, keyId)).toEqual({ spentNano: '0', heldNano: '2100' })
  await database.money.settle([settlement(settled.reservationId)])
  await database.money.release([released.reservationId])
  expect(await counted(database, keyId)).toEqual({ spentNano: '700', heldNano: '700' })
  // The hold was made on the day before.
  database.clock.nowMs += DAY_MS
  await change(keyId, 'day')
  expect(await counted(database, keyId)).toEqual({ spentNano: '0', heldNano: '0' })
  await database.money.settle([settlement(earlier.reservationId)])
  expect(await counted(database, keyId)).toEqual({ spentNano: '0', heldNano: '0' })
  await change(keyId, 'total')
  expect(await counted(database, keyId)).toEqual({ spentNano: '1400', heldNano: '0' })
})

test('a first limit counts what the key has spent without one', async ({ database, change }) => {
  const { accountId } = await database.createAccount(100_000n)
  const { keyId } = await database.operator.createKey(accountId)
  expect(await spend(database, keyId)).toBe('granted')
  await hold(database, keyId)
  await change(keyId, 'month')
  expect(await counted(database, keyId)).toEqual({ spentNano: '700', heldNano: '700' })
  await database.operator.call(ADMIN.changeKey, { key: keyId, spendLimit: null })
  expect(await spend(database, keyId)).toBe('granted')
  await change(keyId, 'month')
  expect(await counted(database, keyId)).toEqual({ spentNano: '1400', heldNano: '700' })
})

test('a change waits for charges that are being made, and counts them', async ({ database, change }) => {
  const { keyId } = await createLimitedKey(database, { spendLimit: { amountNano: LIMIT, period: 'day' } })
  const call = await hold(database, keyId)
  const changed = await inTransaction(database.pool, async (client) => {
    await client.query('select from settle($1, $2, $3, $4, $5, $6, $7, $8)', [
      [call.reservationId],
      [1],
      ['completed'],
      [100],
      [0],
      [50],
      ['worker-1'],
      new Date(database.clock.nowMs),
    ])
    const changing = change(keyId, 'week')
    await expect.poll(() => waiters(client)).toBe(1)
    return { changing }
  })
  await changed.changing
  expect(await counted(database, keyId)).toEqual({ spentNano: '700', heldNano: '0' })
})

async function counted(database: BillingDatabase, key: string) {
  const { spending } = await database.operator.call(ADMIN.readKey, { key })
  return { spentNano: spending?.spentNano, heldNano: spending?.heldNano }
}

async function waiters(client: ClientBase) {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return only(rows).count
}
