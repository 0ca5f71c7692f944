import { describe, expect } from 'vitest'
import {
  only,
  setWatermark,
  settlement,
  START_MS,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { test } from '../support/billing-test.ts'
import { createLimitedKey, hold, newCall, reserve, spend } from '../support/single-calls.ts'

// The model 'chat' costs 2 nano-credits per input token and 10 per output token: 100 input and 50 output tokens hold
// 700. The clock begins on a Tuesday, the first of a month, at midnight.

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

describe('the spend limit of a key', () => {
  test('refuses a call that the account could pay, with the available and held amounts of the key', async ({
    database,
  }) => {
    const { accountId, keyId } = await createLimitedKey(database, {
      spendLimit: { amountNano: '1000', period: 'day' },
    })
    await reserve(database, newCall(database, keyId))
    expect(await reserve(database, newCall(database, keyId, { inputTokens: 200 }))).toEqual({
      status: 'key-limit',
      availableNano: 300n,
      heldNano: 700n,
    })
    expect(await database.balance(accountId)).toMatchObject({ held: 700n })
  })

  test('clamps the output to what the key has left', async ({ database }) => {
    const { keyId } = await createLimitedKey(database, { spendLimit: { amountNano: '500', period: 'day' } })
    expect(await reserve(database, newCall(database, keyId))).toMatchObject({
      amountNano: 500n,
      outputTokens: 30,
      clamped: true,
    })
  })

  test('is not named when the account could not pay either', async ({ database }) => {
    const { accountId, keyId } = await createLimitedKey(database, {
      spendLimit: { amountNano: '50', period: 'day' },
    })
    const other = await database.operator.createKey(accountId)
    await reserve(database, newCall(database, other.keyId, { inputTokens: 49_945, outputTokens: 1 }))
    expect(await reserve(database, newCall(database, keyId))).toEqual({
      status: 'insufficient-credits',
      availableNano: 100n,
      heldNano: 99_900n,
    })
  })

  test('does not bind the other keys of the account', async ({ database }) => {
    const { accountId, keyId } = await createLimitedKey(database, {
      spendLimit: { amountNano: '700', period: 'day' },
    })
    const other = await database.operator.createKey(accountId)
    expect(await spend(database, keyId)).toBe('granted')
    expect(await spend(database, keyId)).toBe('key-limit')
    expect(await spend(database, other.keyId)).toBe('granted')
  })

  test.for([
    ['day', DAY_MS],
    ['week', 6 * DAY_MS],
    ['month', 31 * DAY_MS],
  ] as const)(
    'of a %s restarts with the next one, at midnight UTC',
    async ([period, endMs], { database }) => {
      const { keyId } = await createLimitedKey(database, { spendLimit: { amountNano: '700', period } })
      expect(await spend(database, keyId)).toBe('granted')
      database.clock.nowMs = START_MS + endMs - 1
      expect(await spend(database, keyId)).toBe('key-limit')
      database.clock.nowMs = START_MS + endMs
      expect(await spend(database, keyId)).toBe('granted')
    },
  )

  test('in total never restarts', async ({ database }) => {
    const { keyId } = await createLimitedKey(database, { spendLimit: { amountNano: '700', period: 'total' } })
    expect(await spend(database, keyId)).toBe('granted')
    database.clock.nowMs += 1_000 * DAY_MS
    expect(await spend(database, keyId)).toBe('key-limit')
  })

  test('counts a hold in the period in which it was made, whenever it ends', async ({ database }) => {
    const { keyId } = await createLimitedKey(database, { spendLimit: { amountNano: '700', period: 'day' } })
    const call = newCall(database, keyId)
    await reserve(database, call)
    database.clock.nowMs += DAY_MS
    await database.money.settle([settlement(call.reservationId)])
    expect(await spend(database, keyId)).toBe('granted')
    expect(await spend(database, keyId)).toBe('key-limit')
  })

  test.for(['settled', 'released', 'expired'])(
    'has room again for a hold that has ended: %s',
    async (how, { database }) => {
      const { keyId } = await createLimitedKey(database, {
        spendLimit: { amountNano: '700', period: 'total' },
      })
      const call = newCall(database, keyId)
      await reserve(database, call)
      expect(await spend(database, keyId)).toBe('key-limit')
      if (how === 'settled')
        await database.money.settle([settlement(call.reservationId, { outcome: 'fault' })])
      if (how === 'released') await database.money.release([call.reservationId])
      if (how === 'expired') {
        await setWatermark(database, 'chat', START_MS + DAY_MS)
        await database.money.expire(100)
        await database.pool.query('delete from settlement_watermarks')
      }
      expect(await spend(database, keyId)).toBe('granted')
    },
  )

  test('holds for a replace and an extend too, and the old hold stands', async ({ database }) => {
    const { accountId, keyId } = await createLimitedKey(database, {
      spendLimit: { amountNano: '1000', period: 'day' },
    })
    const { reservationId } = await hold(database, keyId)
    expect(await database.money.resize([{ reservationId, inputTokens: 500, outputTokens: 50 }])).toEqual([
      { status: 'key-limit', availableNano: 300n, heldNano: 700n },
    ])
    const extend = { reservationId, outputTokens: 100 }
    expect(await database.money.resize([extend])).toMatchObject([{ amountNano: 1_000n, clamped: true }])
    expect(await database.money.resize([extend])).toEqual([
      { status: 'key-limit', availableNano: 0n, heldNano: 1_000n },
    ])
    expect(await database.balance(accountId)).toMatchObject({ held: 1_000n })
  })
})

describe('the rate of a key', () => {
  test('lets so many requests through in a minute, in one batch or several', async ({ database }) => {
    const { keyId } = await createLimitedKey(database, { requestsPerMinute: 3 })
    database.clock.nowMs = START_MS + 59_000
    const batch = await database.money.reserve([newCall(database, keyId), newCall(database, keyId)])
    expect(batch.map(({ status }) => status)).toEqual(['granted', 'granted'])
    const rest = await database.money.reserve([newCall(database, keyId), newCall(database, keyId)])
    expect(rest[0]).toMatchObject({ status: 'granted' })
    expect(rest[1]).toEqual({ status: 'key-rate', retryAfterS: 1 })
    database.clock.nowMs = START_MS + MINUTE_MS
    expect(await reserve(database, newCall(database, keyId))).toMatchObject({ status: 'granted' })
  })

  test('of tokens is full when what was granted reaches it, so that the last grant may pass it', async ({
    database,
  }) => {
    const { keyId } = await createLimitedKey(database, { tokensPerMinute: 200 })
    expect(await reserve(database, newCall(database, keyId))).toMatchObject({ status: 'granted' })
    expect(await reserve(database, newCall(database, keyId))).toMatchObject({ status: 'granted' })
    expect(await reserve(database, newCall(database, keyId))).toMatchObject({ status: 'key-rate' })
  })

  test('does not count what was refused, nor the same call twice', async ({ database }) => {
    const { accountId, keyId } = await createLimitedKey(database, { requestsPerMinute: 2 })
    const call = newCall(database, keyId)
    expect(await reserve(database, newCall(database, keyId, { inputTokens: 1_000_000 }))).toMatchObject({
      status: 'insufficient-credits',
    })
    await reserve(database, call)
    await reserve(database, call)
    expect(await reserve(database, newCall(database, keyId))).toMatchObject({ status: 'granted' })
    expect(await database.balance(accountId)).toMatchObject({ openHolds: 2 })
  })

  test('has room again within the minute for what never ran, and for tokens that were not used', async ({
    database,
  }) => {
    const { keyId } = await createLimitedKey(database, { requestsPerMinute: 2, tokensPerMinute: 200 })
    const released = await hold(database, keyId)
    const settled = await hold(database, keyId)
    expect(await reserve(database, newCall(database, keyId))).toMatchObject({ status: 'key-rate' })
    await database.money.release([released.reservationId])
    await database.money.settle([
      settlement(settled.reservationId, { promptTokens: 10, completionTokens: 5 }),
    ])
    expect(await counted(database, keyId)).toEqual({ requests: 1, tokens: 15n })
    expect(await reserve(database, newCall(database, keyId))).toMatchObject({ status: 'granted' })
  })

  test('is not given back twice when a released generation settles after all', async ({ database }) => {
    const { keyId } = await createLimitedKey(database, { tokensPerMinute: 1_000 })
    const { reservationId } = await hold(database, keyId)
    await hold(database, keyId)
    await database.money.release([reservationId])
    await database.money.settle([settlement(reservationId, { promptTokens: 10, completionTokens: 5 })])
    expect(await counted(database, keyId)).toEqual({ requests: 1, tokens: 150n })
  })

  test('counts every answer of a request; a request with more answers than the limit has the minute alone', async ({
    database,
  }) => {
    const { keyId } = await createLimitedKey(database, { requestsPerMinute: 4 })
    const wanting = (choices: number) => newCall(database, keyId, { choices, outputTokens: choices })
    const three = wanting(3)
    const answers = await database.money.reserve([three, wanting(2), wanting(1), wanting(1)])
    expect(answers.map(({ status }) => status)).toEqual(['granted', 'key-rate', 'granted', 'key-rate'])
    expect(await counted(database, keyId)).toMatchObject({ requests: 4 })
    await database.money.release([three.reservationId])
    expect(await counted(database, keyId)).toMatchObject({ requests: 1 })
    database.clock.nowMs = START_MS + MINUTE_MS
    expect(await reserve(database, wanting(8))).toMatchObject({ status: 'granted' })
    expect(await reserve(database, wanting(1))).toMatchObject({ status: 'key-rate' })
  })

  test('counts the tokens by which a hold grows, and refuses the growth in a full minute', async ({
    database,
  }) => {
    const { keyId } = await createLimitedKey(database, { tokensPerMinute: 400 })
    const { reservationId } = await hold(database, keyId)
    const other = await hold(database, keyId)
    const extend = async (id: string, outputTokens: number) =>
      await database.money.resize([{ reservationId: id, outputTokens }])
    expect(await extend(reservationId, 200)).toMatchObject([{ status: 'granted', outputTokens: 200 }])
    expect(await counted(database, keyId)).toEqual({ requests: 2, tokens: 450n })
    expect(await extend(other.reservationId, 200)).toEqual([{ status: 'key-rate', retryAfterS: 60 }])
    expect(await reserve(database, newCall(database, keyId))).toMatchObject({ status: 'key-rate' })
    // A later deadline is no growth.
    const later = { reservationId, outputTokens: 0, deadlineMs: START_MS + 10 * MINUTE_MS }
    expect(await database.money.resize([later])).toMatchObject([{ status: 'granted' }])
    await database.money.settle([settlement(reservationId, { promptTokens: 100, completionTokens: 60 })])
    expect(await counted(database, keyId)).toEqual({ requests: 2, tokens: 310n })
    expect(await extend(other.reservationId, 200)).toMatchObject([{ status: 'granted' }])
  })

  test('counts growth in the minute in which it happens, and corrects no other minute', async ({
    database,
  }) => {
    const { keyId } = await createLimitedKey(database, { requestsPerMinute: 9, tokensPerMinute: 400 })
    const ids = [await hold(database, keyId), await hold(database, keyId)].map((held) => held.reservationId)
    const [settled = '', released = ''] = ids
    database.clock.nowMs = START_MS + MINUTE_MS
    await database.money.resize(ids.map((reservationId) => ({ reservationId, outputTokens: 110 })))
    expect(await counted(database, keyId)).toEqual({ requests: 0, tokens: 120n })
    await hold(database, keyId)
    // 100 and 110 tokens were granted and 5 used; the minute has counted 60 of them.
    await database.money.settle([settlement(settled, { promptTokens: 4, completionTokens: 1 })])
    expect(await counted(database, keyId)).toEqual({ requests: 1, tokens: 210n })
    await database.money.release([released])
    expect(await counted(database, keyId)).toEqual({ requests: 1, tokens: 150n })
  })

  test('counts what a replace adds, and what was used although no minute had counted it', async ({
    database,
  }) => {
    const { keyId } = await createLimitedKey(database, { tokensPerMinute: 1_000 })
    const { reservationId } = await hold(database, keyId)
    await database.money.resize([{ reservationId, inputTokens: 130, outputTokens: 50 }])
    expect(await counted(database, keyId)).toEqual({ requests: 1, tokens: 180n })
    database.clock.nowMs = START_MS + MINUTE_MS
    await database.money.settle([settlement(reservationId, { promptTokens: 300, completionTokens: 2 })])
    expect(await counted(database, keyId)).toEqual({ requests: 0, tokens: 122n })
  })

  async function counted(database: BillingDatabase, keyId: string) {
    const { rows } = await database.pool.query<{ requests: number; tokens: bigint }>(
      'select requests, tokens from key_rates where key_id = $1',
      [keyId],
    )
    return only(rows)
  }
})

test('a model outside the list of the key is unknown to it', async ({ database }) => {
  const { accountId } = await database.createAccount(10_000n)
  const { keyId } = await database.operator.createKey(accountId, { models: ['odd'] })
  expect(await reserve(database, newCall(database, keyId))).toEqual({ status: 'model-unknown' })
  expect(await reserve(database, newCall(database, keyId, { model: 'odd' }))).toMatchObject({
    status: 'granted',
  })
})
