import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { only, reserveCall, settlement, START_MS, type BillingDatabase } from '../support/billing-database.ts'
import { test } from '../support/own-database-test.ts'

const DAY_MS = 86_400_000

/** Inserts an entry between others: the numbers of a transaction that was rolled back are free. */
const INSERT_ENTRY = `insert into ledger (seq, kind, ref, debit_account, credit_account, amount, posted_at)
  overriding system value
  select seq - 1, kind, gen_random_uuid(), debit_account, credit_account, 1, posted_at from ledger where kind = 'charge'`

describe('adjust', () => {
  test('gives and takes, and each is in the ledger', async ({ database }) => {
    const { accountId } = await database.createAccount(1_000n)
    expect(await adjust(database, accountId, { amount: 500n, key: 'a' })).toMatchObject({
      status: 'posted',
      posted: 1_500n,
    })
    expect(await adjust(database, accountId, { amount: -1_200n, key: 'b' })).toMatchObject({
      status: 'posted',
      posted: 300n,
    })
    const { rows } = await database.pool.query(
      "select amount, credit_account = $1 as is_gift from ledger where kind = 'adjustment' order by seq",
      [accountId],
    )
    expect(rows).toEqual([
      { amount: 500n, is_gift: true },
      { amount: 1_200n, is_gift: false },
    ])
    await database.expectReconciled()
  })

  test('never takes held credits', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    await database.money.reserve([reserveCall(keyId)])
    expect(await adjust(database, accountId, { amount: -301n, key: 'a' })).toEqual({
      status: 'insufficient',
      movement_id: null,
      posted: 1_000n,
    })
    expect(await adjust(database, accountId, { amount: -300n, key: 'a' })).toMatchObject({
      status: 'posted',
      posted: 700n,
    })
    await database.expectReconciled()
  })

  test('is made once for an idempotency key; another amount or reason is a conflict', async ({
    database,
  }) => {
    const { accountId } = await database.createAccount(1_000n)
    const first = await adjust(database, accountId, { amount: -100n, key: 'a' })
    expect(await adjust(database, accountId, { amount: -100n, key: 'a' })).toEqual({
      ...first,
      status: 'replayed',
    })
    expect(await adjust(database, accountId, { amount: -101n, key: 'a' })).toMatchObject({
      status: 'conflict',
    })
    expect(await adjust(database, accountId, { amount: -100n, key: 'a', reason: 'another' })).toMatchObject({
      status: 'conflict',
      posted: 900n,
    })
    const other = await database.createAccount(1_000n)
    expect(await adjust(database, other.accountId, { amount: -100n, key: 'a' })).toMatchObject({
      status: 'posted',
    })
  })

  test('knows when there is no such account', async ({ database }) => {
    expect(await adjust(database, randomUUID(), { amount: 1n, key: 'a' })).toEqual({
      status: 'unknown',
      movement_id: null,
      posted: null,
    })
  })

  async function adjust(
    database: BillingDatabase,
    account: string,
    asked: { amount: bigint; key: string; reason?: string },
  ) {
    const { rows } = await database.pool.query<{
      status: string
      movement_id: string | null
      posted: bigint | null
    }>('select * from adjust(movement => $1, account => $2, amount => $3, why => $4, key => $5, at => $6)', [
      randomUUID(),
      account,
      asked.amount,
      asked.reason ?? 'a mistake',
      asked.key,
      new Date(START_MS),
    ])
    return only(rows)
  }
})

describe('seals', () => {
  test('hold the entries since the seal before, once a day', async ({ database }) => {
    const { accountId } = await database.createAccount(1_000n)
    await topUp(database, accountId, 'second')
    expect(await seal(database)).toEqual({ day: '2030-01-01', entries: 2n })
    await topUp(database, accountId, 'third')
    expect(await seal(database)).toEqual({ day: '2030-01-01', entries: 2n })
    database.clock.nowMs += DAY_MS
    expect(await seal(database)).toEqual({ day: '2030-01-02', entries: 1n })
    database.clock.nowMs += DAY_MS
    expect(await seal(database)).toEqual({ day: '2030-01-03', entries: 0n })
    expect(await brokenSeals(database)).toEqual([])
    await database.expectReconciled()
  })

  test.for([
    ['is changed', "update ledger set amount = amount + 1 where kind = 'charge'"],
    ['is moved', "update ledger set posted_at = posted_at - interval '1 microsecond' where kind = 'charge'"],
    ['is removed', "delete from ledger where kind = 'charge'"],
    ['is added', INSERT_ENTRY],
  ] as const)(
    'name the day on which an entry %s behind the triggers',
    async ([, change], { damagedDatabase: database }) => {
      const { accountId, keyId } = await database.createAccount(1_000n)
      await seal(database)
      database.clock.nowMs += DAY_MS
      await database.pool.query("select nextval(pg_get_serial_sequence('ledger', 'seq'))")
      const call = reserveCall(keyId)
      await database.money.reserve([call])
      await database.money.settle([settlement(call.reservationId)])
      await seal(database)
      database.clock.nowMs += DAY_MS
      await topUp(database, accountId, 'second')
      await seal(database)
      await database.pool.query(asSuperuser(change))
      expect(await brokenSeals(database)).toEqual(['2030-01-02'])
    },
  )

  test('let the reconciliation begin where the newest one ends, and the whole one still sees the past', async ({
    damagedDatabase: database,
  }) => {
    const { accountId } = await database.createAccount(1_000n)
    await seal(database)
    await topUp(database, accountId, 'second')
    const counts = async (whole: boolean) => {
      const { rows } = await database.pool.query<{ name: string }>(
        'select name from reconcile(whole => $1) where count <> 0 order by name',
        [whole],
      )
      return rows.map(({ name }) => name)
    }
    expect([await counts(false), await counts(true)]).toEqual([[], []])
    await database.pool.query(asSuperuser('update ledger set amount = 999 where seq = 1'))
    expect(await counts(false)).toEqual([])
    expect(await counts(true)).toEqual([
      'posted-differs-from-ledger',
      'seal-broken',
      'topup-differs-from-ledger',
    ])
  })

  async function seal(database: BillingDatabase) {
    const { rows } = await database.pool.query('select day::text, entries from seal_ledger(at => $1)', [
      new Date(database.clock.nowMs),
    ])
    return only(rows)
  }

  async function brokenSeals(database: BillingDatabase) {
    const { rows } = await database.pool.query<{ day: string }>('select day::text from broken_seals() as day')
    return rows.map(({ day }) => day)
  }

  async function topUp(database: BillingDatabase, accountId: string, idempotencyKey: string) {
    await database.operator.topUp(accountId, { nano: 100n, idempotencyKey })
  }
})

/** Returns a statement that runs without the triggers that keep tables append-only. */
function asSuperuser(statement: string): string {
  return `begin; set local session_replication_role = replica; ${statement}; commit`
}
