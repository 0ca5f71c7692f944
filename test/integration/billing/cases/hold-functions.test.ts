import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { CHAT, EMBED, ODD, only, reserveCall, START_MS } from '../support/billing-database.ts'
import { test as base } from '../support/billing-test.ts'
import { hold, reserve, settle } from '../support/single-calls.ts'

// The model 'chat' costs 2 nano-credits for an input token, 1 for a cached input token and 10 for an output token.

const test = base.extend(
  'replace',
  ({ database }) =>
    async (reservationId: string, inputTokens: number, outputTokens: number) =>
      only(await database.money.resize([{ reservationId, inputTokens, outputTokens }])),
)

describe('reserve', () => {
  test('sets aside the input and the wanted output at catalog prices', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(10_000n)
    expect(await reserve(database, reserveCall(keyId))).toEqual({
      status: 'granted',
      amountNano: 700n,
      outputTokens: 50,
      clamped: false,
      prices: {
        inputPriceNano: 2_000_000n,
        cachedInputPriceNano: 1_000_000n,
        outputPriceNano: 10_000_000n,
      },
      receipt: expect.any(String),
    })
    expect(await database.balance(accountId)).toEqual({ posted: 10_000n, held: 700n, openHolds: 1 })
  })

  test('refuses what costs more than any balance can be', async ({ database }) => {
    const price = '999999999999999999'
    const dear = { ...CHAT, id: 'dear', inputPriceNano: price, cachedInputPriceNano: '0' }
    await database.loadModels([CHAT, ODD, EMBED, dear])
    const { keyId } = await database.createAccount(10_000n)
    const call = reserveCall(keyId, { model: 'dear', inputTokens: 10_000_000 })
    expect(await reserve(database, call)).toEqual({
      status: 'insufficient-credits',
      availableNano: 10_000n,
      heldNano: 0n,
    })
  })

  test('grants less output when credits are short, and reports it as clamped', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(259n)
    expect(await reserve(database, reserveCall(keyId))).toMatchObject({
      amountNano: 250n,
      outputTokens: 5,
      clamped: true,
    })
    expect(await database.balance(accountId)).toMatchObject({ held: 250n })
  })

  test('does not call the model limits a shortage of money', async ({ database }) => {
    const { keyId } = await database.createAccount(1_000_000n)
    const long = reserveCall(keyId, { outputTokens: 5_000 })
    expect(await reserve(database, long)).toMatchObject({
      outputTokens: CHAT.maxOutputTokens,
      clamped: false,
    })
    const full = reserveCall(keyId, { inputTokens: 4_000, outputTokens: 500 })
    expect(await reserve(database, full)).toMatchObject({ outputTokens: 96, clamped: false })
  })

  test('leaves one token to an estimate beyond the context window, which the exact count may fit', async ({
    database,
  }) => {
    const { keyId } = await database.createAccount(1_000_000n)
    expect(await reserve(database, reserveCall(keyId, { inputTokens: 5_000 }))).toMatchObject({
      outputTokens: 1,
    })
  })

  test('refuses when not one token of output could be paid, with the available and held amounts', async ({
    database,
  }) => {
    const { accountId, keyId } = await database.createAccount(909n)
    await reserve(database, reserveCall(keyId))
    expect(await reserve(database, reserveCall(keyId))).toEqual({
      status: 'insufficient-credits',
      availableNano: 209n,
      heldNano: 700n,
    })
    expect(await database.balance(accountId)).toMatchObject({ held: 700n })
  })

  test('embeddings need no output', async ({ database }) => {
    const { keyId } = await database.createAccount(200n)
    const call = reserveCall(keyId, { model: 'embed', outputTokens: 0 })
    expect(await reserve(database, call)).toMatchObject({
      amountNano: 200n,
      outputTokens: 0,
      clamped: false,
    })
    expect(await reserve(database, { ...call, reservationId: randomUUID() })).toMatchObject({
      status: 'insufficient-credits',
    })
  })

  test('the same call again gets the same answer and holds nothing more', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(10_000n)
    const call = reserveCall(keyId)
    const first = await reserve(database, call)
    expect(await reserve(database, call)).toEqual(first)
    expect(await database.balance(accountId)).toMatchObject({ held: 700n, openHolds: 1 })
  })

  test.for([
    ['another key', { keyId: randomUUID() }],
    ['another model', { model: 'odd' }],
    ['another input', { inputTokens: 101 }],
    ['another output', { outputTokens: 51 }],
    ['another deadline', { deadlineMs: START_MS + 600_001 }],
  ] as const)('the same id with %s is a conflict', async ([, change], { database }) => {
    const { accountId, keyId } = await database.createAccount(10_000n)
    const call = reserveCall(keyId)
    await reserve(database, call)
    expect(await reserve(database, { ...call, ...change })).toEqual({ status: 'conflict' })
    expect(await database.balance(accountId)).toMatchObject({ held: 700n })
  })

  // All 50 tokens cost 700, the 20 expected ones 400, the least 10 tokens 300.
  const rolling = { expectedTokens: 20, leastTokens: 10 }

  test.for([
    ['a rich account holds all wanted tokens', 5_600n, { amountNano: 700n, outputTokens: 50 }],
    ['another account the expected ones', 5_599n, { amountNano: 400n, outputTokens: 20 }],
    ['also with nothing to spare', 400n, { amountNano: 400n, outputTokens: 20 }],
  ] as const)('of a hold that may grow %s', async ([, nano, hold], { database }) => {
    const { accountId, keyId } = await database.createAccount(nano)
    const call = reserveCall(keyId, { rolling })
    const answer = await reserve(database, call)
    expect(answer).toMatchObject({ ...hold, clamped: false })
    expect(await reserve(database, call)).toEqual(answer)
    expect(await database.balance(accountId)).toMatchObject({ held: hold.amountNano, openHolds: 1 })
  })

  test('a hold that may grow to no more than is expected is no hold that grows', async ({ database }) => {
    const { keyId } = await database.createAccount(700n)
    const call = reserveCall(keyId, { rolling: { expectedTokens: 50, leastTokens: 10 } })
    expect(await reserve(database, call)).toMatchObject({ amountNano: 700n, clamped: false })
  })

  test('no less than the least is granted, where that is less than is expected', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(699n)
    await reserve(database, reserveCall(keyId, { rolling }))
    const second = reserveCall(keyId, { rolling })
    expect(await reserve(database, second)).toEqual({
      status: 'insufficient-credits',
      availableNano: 299n,
      heldNano: 400n,
    })
    await database.operator.topUp(accountId, { nano: 1n, idempotencyKey: 'one' })
    expect(await reserve(database, second)).toMatchObject({
      amountNano: 300n,
      outputTokens: 10,
      clamped: true,
    })
    const few = reserveCall(keyId, { outputTokens: 5, rolling: { expectedTokens: 5, leastTokens: 5 } })
    await database.operator.topUp(accountId, { nano: 250n, idempotencyKey: 'few' })
    expect(await reserve(database, few)).toMatchObject({
      amountNano: 250n,
      outputTokens: 5,
      clamped: false,
    })
  })

  test('a spend limit is compared like a balance', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(100_000n)
    const spendLimit = { amountNano: '650', period: 'day' } as const
    const limited = await database.operator.createKey(accountId, { spendLimit })
    await reserve(database, reserveCall(keyId))
    expect(await reserve(database, reserveCall(limited.keyId, { rolling }))).toMatchObject({
      amountNano: 400n,
      clamped: false,
    })
    expect(await reserve(database, reserveCall(limited.keyId, { rolling }))).toEqual({
      status: 'key-limit',
      availableNano: 250n,
      heldNano: 400n,
    })
    const less = { expectedTokens: 20, leastTokens: 5 }
    expect(await reserve(database, reserveCall(limited.keyId, { rolling: less }))).toMatchObject({
      amountNano: 250n,
      outputTokens: 5,
      clamped: true,
    })
  })

  test('in a batch each call is compared with what the earlier ones left', async ({ database }) => {
    const { keyId } = await database.createAccount(6_299n)
    const answers = await database.money.reserve([
      reserveCall(keyId, { rolling }),
      reserveCall(keyId, { rolling }),
      reserveCall(keyId),
    ])
    expect(answers).toMatchObject([{ amountNano: 700n }, { amountNano: 400n }, { amountNano: 700n }])
  })

  test('serves the calls of one account in their order, each from what the earlier left', async ({
    database,
  }) => {
    const { keyId } = await database.createAccount(1_000n)
    const small = reserveCall(keyId, { inputTokens: 1, outputTokens: 1 })
    const answers = await database.money.reserve([reserveCall(keyId), reserveCall(keyId), small])
    expect(answers).toMatchObject([
      { amountNano: 700n, clamped: false },
      { amountNano: 300n, outputTokens: 10, clamped: true },
      { status: 'insufficient-credits', availableNano: 0n },
    ])
  })

  test('refuses a key that is unknown, revoked, expired or of a closed account', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(10_000n)
    expect(await reserve(database, reserveCall(randomUUID()))).toEqual({ status: 'key-invalid' })
    const expire = 'update api_keys set expires_at = $2 where id = $1'
    await database.pool.query(expire, [keyId, new Date(START_MS)])
    expect(await reserve(database, reserveCall(keyId))).toEqual({ status: 'key-invalid' })
    await database.pool.query(expire, [keyId, new Date(START_MS + 1)])
    expect(await reserve(database, reserveCall(keyId))).toMatchObject({ status: 'granted' })
    await database.pool.query("update accounts set status = 'closed' where id = $1", [accountId])
    expect(await reserve(database, reserveCall(keyId))).toEqual({ status: 'key-invalid' })
    const other = await database.createAccount(10_000n)
    await database.operator.revokeKey(other.keyId)
    expect(await reserve(database, reserveCall(other.keyId))).toEqual({ status: 'key-invalid' })
  })

  test('refuses a model that is not in the catalog', async ({ database }) => {
    const { keyId } = await database.createAccount(10_000n)
    expect(await reserve(database, reserveCall(keyId, { model: 'unknown' }))).toEqual({
      status: 'model-unknown',
    })
  })
})

describe('replace', () => {
  test('puts exact numbers in the place of the estimate, with the old hold counted as available', async ({
    database,
    replace,
  }) => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    const { reservationId } = await hold(database, keyId)
    expect(await replace(reservationId, 300, 50)).toMatchObject({
      status: 'granted',
      amountNano: 1_000n,
      outputTokens: 40,
      clamped: true,
    })
    expect(await database.balance(accountId)).toMatchObject({ held: 1_000n, openHolds: 1 })
  })

  test('works once: the same numbers get the same answer, others are a conflict', async ({
    database,
    replace,
  }) => {
    const { accountId, keyId } = await database.createAccount(10_000n)
    const { reservationId } = await hold(database, keyId)
    const first = await replace(reservationId, 300, 50)
    expect(first).toMatchObject({ amountNano: 1_100n })
    expect(await replace(reservationId, 300, 50)).toEqual(first)
    expect(await replace(reservationId, 300, 51)).toEqual({ status: 'conflict' })
    expect(await database.balance(accountId)).toMatchObject({ held: 1_100n })
  })

  test('keeps the old hold when the exact numbers cannot be paid', async ({ database, replace }) => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    const { reservationId } = await hold(database, keyId)
    expect(await replace(reservationId, 500, 50)).toEqual({
      status: 'insufficient-credits',
      availableNano: 300n,
      heldNano: 700n,
    })
    expect(await database.balance(accountId)).toMatchObject({ held: 700n, openHolds: 1 })
  })

  test('refuses an id without a hold, and a key that was revoked meanwhile', async ({
    database,
    replace,
  }) => {
    const { keyId } = await database.createAccount(10_000n)
    expect(await replace(randomUUID(), 1, 1)).toEqual({ status: 'conflict' })
    const { reservationId } = await hold(database, keyId)
    const gone = await hold(database, keyId)
    await database.money.release([gone.reservationId])
    expect(await replace(gone.reservationId, 1, 1)).toEqual({ status: 'conflict' })
    await database.operator.revokeKey(keyId)
    expect(await replace(reservationId, 1, 1)).toEqual({ status: 'key-invalid' })
  })
})

describe('release', () => {
  test('gives the hold back, and again is the same', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    const { reservationId } = await hold(database, keyId)
    expect(await database.money.release([reservationId, reservationId])).toEqual([true, true])
    expect(await database.money.release([reservationId])).toEqual([true])
    expect(await database.balance(accountId)).toEqual({ posted: 1_000n, held: 0n, openHolds: 0 })
  })

  test('of an unknown id refuses the reserve that arrives later', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    const call = reserveCall(keyId)
    expect(await database.money.release([call.reservationId])).toEqual([true])
    expect(await reserve(database, call)).toEqual({ status: 'conflict' })
    expect(await database.balance(accountId)).toMatchObject({ held: 0n })
  })

  test('comes too late for what was settled', async ({ database }) => {
    const { keyId } = await database.createAccount(1_000n)
    const { reservationId } = await hold(database, keyId)
    await settle(database, reservationId)
    expect(await database.money.release([reservationId])).toEqual([false])
  })
})
