import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import {
  CHAT,
  EMBED,
  HOLD_GRACE_MS,
  ODD,
  reserveCall,
  setWatermark,
  settlement,
  START_MS,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { test } from '../support/billing-test.ts'
import { hold, reserve, settle } from '../support/single-calls.ts'

// The model 'chat' costs 2 nano-credits per input token, 1 per cached input token and 10 per output token.

describe('settle', () => {
  test.for(['completed', 'cancelled'] as const)(
    '%s is charged for its usage, the rest of the hold is free',
    async (outcome, { database }) => {
      const { accountId, keyId } = await database.createAccount(1_000n)
      const { reservationId } = await hold(database, keyId)
      const usage = { outcome, promptTokens: 90, cachedTokens: 40, completionTokens: 7 }
      expect(await settle(database, reservationId, usage)).toEqual({
        result: 'charged',
        costNano: 210n,
        chargedNano: 210n,
      })
      expect(await database.balance(accountId)).toEqual({ posted: 790n, held: 0n, openHolds: 0 })
    },
  )

  test.for(['fault', 'never-ran'] as const)(
    '%s costs nothing, whatever usage it carries',
    async (outcome, { database }) => {
      const { accountId, keyId } = await database.createAccount(1_000n)
      const { reservationId } = await hold(database, keyId)
      expect(await settle(database, reservationId, { outcome })).toEqual({
        result: 'charged',
        costNano: 0n,
        chargedNano: 0n,
      })
      expect(await database.balance(accountId)).toEqual({ posted: 1_000n, held: 0n, openHolds: 0 })
    },
  )

  test('faults beyond the free tokens of an hour are charged for their usage, until the next hour', async ({
    database,
  }) => {
    const { accountId, keyId } = await database.createAccount(10_000n)
    const fail = async (outcome: 'fault' | 'never-ran' = 'fault') => {
      const { reservationId } = await hold(database, keyId)
      const usage = { outcome, promptTokens: 90, cachedTokens: 40, completionTokens: 10 }
      const { chargedNano } = await settle(database, reservationId, usage)
      expect(await settle(database, reservationId, usage)).toMatchObject({
        result: 'replayed',
        chargedNano,
      })
      return chargedNano
    }
    const charges: bigint[] = []
    for (let failed = 0; failed < 6; failed += 1) charges.push(await fail())
    expect(charges).toEqual([0n, 0n, 0n, 0n, 0n, 240n])
    expect(await fail('never-ran')).toBe(0n)
    const other = await database.createAccount(1_000n)
    const { reservationId } = await hold(database, other.keyId)
    const settled = await settle(database, reservationId, { outcome: 'fault' })
    expect(settled).toMatchObject({ chargedNano: 0n })
    expect(await database.balance(accountId)).toMatchObject({ posted: 9_760n, held: 0n })
    database.clock.nowMs += 3_600_000
    expect(await fail()).toBe(0n)
    await database.expectReconciled()
  })

  test('never charges more than the hold, however much else is free, and writes the rest off', async ({
    database,
  }) => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    const { reservationId } = await hold(database, keyId)
    const other = await hold(database, keyId, { inputTokens: 50, outputTokens: 10 })
    expect(other.answer).toMatchObject({ amountNano: 200n })
    expect(await settle(database, reservationId, { completionTokens: 500 })).toMatchObject({
      costNano: 5_200n,
      chargedNano: 700n,
    })
    expect(await database.balance(accountId)).toEqual({ posted: 300n, held: 200n, openHolds: 1 })
  })

  test('the first one wins: replays get the stored charge, other numbers are an alarm', async ({
    database,
  }) => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    const { reservationId } = await hold(database, keyId)
    const first = settlement(reservationId)
    const other = settlement(reservationId, { epoch: 2, completionTokens: 1 })
    const answers = [
      ...(await database.money.settle([first, first, other])),
      ...(await database.money.settle([other, first])),
    ]
    expect(answers.map(({ result }) => result)).toEqual([
      'charged',
      'replayed',
      'different',
      'different',
      'replayed',
    ])
    expect(new Set(answers.map(({ chargedNano }) => chargedNano))).toEqual(new Set([700n]))
    expect(await database.balance(accountId)).toMatchObject({ posted: 300n, held: 0n })
    expect(await alarms(database, reservationId)).toEqual(['different'])
  })

  test('of an expired hold is late and charges at most the available credits', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    const { reservationId } = await hold(database, keyId)
    await expireAll(database)
    await hold(database, keyId, { inputTokens: 200, outputTokens: 1 })
    expect(await settle(database, reservationId)).toEqual({
      result: 'late',
      costNano: 700n,
      chargedNano: 590n,
    })
    expect(await database.balance(accountId)).toEqual({ posted: 410n, held: 410n, openHolds: 1 })
    expect(await settle(database, reservationId)).toMatchObject({ result: 'replayed', chargedNano: 590n })
  })

  test('of a released hold is recorded, charged nothing, and an alarm', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    const { reservationId } = await hold(database, keyId)
    await database.money.release([reservationId])
    expect(await settle(database, reservationId)).toEqual({
      result: 'released',
      costNano: 700n,
      chargedNano: 0n,
    })
    expect(await database.balance(accountId)).toEqual({ posted: 1_000n, held: 0n, openHolds: 0 })
    expect(await alarms(database, reservationId)).toEqual(['released'])
  })

  test('of a released hold that never ran is no alarm', async ({ database }) => {
    const { keyId } = await database.createAccount(1_000n)
    const { reservationId } = await hold(database, keyId)
    await database.money.release([reservationId])
    expect(await settle(database, reservationId, { outcome: 'never-ran' })).toMatchObject({
      result: 'void',
      chargedNano: 0n,
    })
    const tombstone = randomUUID()
    await database.money.release([tombstone])
    expect(await settle(database, tombstone, { outcome: 'never-ran' })).toMatchObject({
      result: 'void',
      chargedNano: 0n,
    })
    expect(await alarms(database, reservationId)).toEqual([])
  })

  test('of an id that was never reserved raises one alarm and charges nothing', async ({ database }) => {
    const id = randomUUID()
    expect(await settle(database, id)).toEqual({ result: 'unknown', costNano: 0n, chargedNano: 0n })
    expect(await settle(database, id)).toMatchObject({ result: 'unknown' })
    expect(await alarms(database, id)).toEqual(['unknown'])
  })

  test('charges by the price of the reservation, not by the price of today', async ({ database }) => {
    const { keyId } = await database.createAccount(100_000n)
    const { reservationId } = await hold(database, keyId)
    database.clock.nowMs += 1_000
    await database.loadModels([{ ...CHAT, outputPriceNano: '20000000' }, ODD, EMBED])
    expect(await settle(database, reservationId)).toMatchObject({ chargedNano: 700n })
    expect(await reserve(database, reserveCall(keyId))).toMatchObject({ amountNano: 1_200n })
    database.clock.nowMs += 1_000
    await database.loadModels([CHAT, ODD, EMBED])
  })
})

describe('expire', () => {
  test('frees a hold only when the watermark is 30 s beyond its end', async ({ database }) => {
    await expireAll(database)
    const { accountId, keyId } = await database.createAccount(1_000n)
    const { deadlineMs } = await hold(database, keyId)
    database.clock.nowMs = deadlineMs + 24 * 3_600_000
    await setWatermark(database, 'chat', deadlineMs + HOLD_GRACE_MS + 30_000)
    await database.money.expire(100)
    expect(await database.balance(accountId)).toMatchObject({ held: 700n })
    await setWatermark(database, 'chat', deadlineMs + HOLD_GRACE_MS + 30_001)
    expect(await database.money.expire(100)).toMatchObject({ expired: 1, more: false })
    expect(await database.balance(accountId)).toEqual({ posted: 1_000n, held: 0n, openHolds: 0 })
  })

  test('asks the watermark of the same model', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    await hold(database, keyId, { model: 'odd' })
    await setWatermark(database, 'chat', START_MS + 10 * 24 * 3_600_000)
    await database.money.expire(100)
    expect(await database.balance(accountId)).toMatchObject({ openHolds: 1 })
  })

  test('reports that there may be more when the limit was reached', async ({ database }) => {
    const { keyId } = await database.createAccount(1_000_000n)
    await database.pool.query('delete from settlement_watermarks')
    const calls = Array.from({ length: 5 }, () => reserveCall(keyId))
    await database.money.reserve(calls)
    await setWatermark(database, 'chat', START_MS + 10 * 24 * 3_600_000)
    expect(await database.money.expire(3)).toEqual({ expired: 3, more: true })
    expect(await database.money.expire(3)).toEqual({ expired: 2, more: false })
  })
})

describe('the ledger', () => {
  test('cannot be changed', async ({ database }) => {
    const { accountId } = await database.createAccount(5n)
    for (const statement of ['update ledger set amount = 1', 'delete from ledger', 'truncate ledger']) {
      await expect(database.pool.query(statement)).rejects.toThrow('append-only')
    }
    expect(await database.balance(accountId)).toMatchObject({ posted: 5n })
  })
})

async function expireAll(database: BillingDatabase) {
  await setWatermark(database, 'chat', START_MS + 10 * 24 * 3_600_000)
  await database.money.expire(1_000)
  await database.pool.query('delete from settlement_watermarks')
}

async function alarms(database: BillingDatabase, reservationId: string): Promise<string[]> {
  const { rows } = await database.pool.query<{ kind: string }>(
    'select kind from settlement_alarms where reservation_id = $1',
    [reservationId],
  )
  return rows.map(({ kind }) => kind)
}
