import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { ReserveCall } from '#libs/billing-client/billing-calls.ts'
import {
  CHAT,
  EMBED,
  ODD,
  only,
  openBillingDatabase,
  reserveCall,
  settlement,
  START_MS,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { PATHS } from '../support/money-paths.ts'

// The model 'chat' costs 2 nano-credits for an input token, 1 for a cached input token and 10 for an output token.

describe.each(PATHS)('on the %s path of single calls', (path) => {
  let database: BillingDatabase

  beforeAll(async () => {
    database = await openBillingDatabase({ path })
  })
  afterEach(async () => {
    await database.expectReconciled()
    database.clock.nowMs = START_MS
  })
  afterAll(() => database.close())

  const reserve = async (call: ReserveCall) => only(await database.money.reserve([call]))
  const settle = async (...fields: Parameters<typeof settlement>) =>
    only(await database.money.settle([settlement(...fields)]))

  describe('reserve', () => {
    test('sets aside the input and the wanted output at catalog prices', async () => {
      const { accountId, keyId } = await database.createAccount(10_000n)
      expect(await reserve(reserveCall(keyId))).toEqual({
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

    test('refuses what costs more than any balance can be', async () => {
      const price = '999999999999999999'
      const dear = { ...CHAT, id: 'dear', inputPriceNano: price, cachedInputPriceNano: '0' }
      await database.loadModels([CHAT, ODD, EMBED, dear])
      const { keyId } = await database.createAccount(10_000n)
      const call = reserveCall(keyId, { model: 'dear', inputTokens: 10_000_000 })
      expect(await reserve(call)).toEqual({
        status: 'insufficient-credits',
        availableNano: 10_000n,
        heldNano: 0n,
      })
    })

    test('grants less output when credits are short, and reports it as clamped', async () => {
      const { accountId, keyId } = await database.createAccount(259n)
      expect(await reserve(reserveCall(keyId))).toMatchObject({
        amountNano: 250n,
        outputTokens: 5,
        clamped: true,
      })
      expect(await database.balance(accountId)).toMatchObject({ held: 250n })
    })

    test('does not call the model limits a shortage of money', async () => {
      const { keyId } = await database.createAccount(1_000_000n)
      const long = reserveCall(keyId, { outputTokens: 5_000 })
      expect(await reserve(long)).toMatchObject({ outputTokens: CHAT.maxOutputTokens, clamped: false })
      const full = reserveCall(keyId, { inputTokens: 4_000, outputTokens: 500 })
      expect(await reserve(full)).toMatchObject({ outputTokens: 96, clamped: false })
    })

    test('leaves one token to an estimate beyond the context window, which the exact count may fit', async () => {
      const { keyId } = await database.createAccount(1_000_000n)
      expect(await reserve(reserveCall(keyId, { inputTokens: 5_000 }))).toMatchObject({ outputTokens: 1 })
    })

    test('refuses when not one token of output could be paid, with the available and held amounts', async () => {
      const { accountId, keyId } = await database.createAccount(909n)
      await reserve(reserveCall(keyId))
      expect(await reserve(reserveCall(keyId))).toEqual({
        status: 'insufficient-credits',
        availableNano: 209n,
        heldNano: 700n,
      })
      expect(await database.balance(accountId)).toMatchObject({ held: 700n })
    })

    test('embeddings need no output', async () => {
      const { keyId } = await database.createAccount(200n)
      const call = reserveCall(keyId, { model: 'embed', outputTokens: 0 })
      expect(await reserve(call)).toMatchObject({ amountNano: 200n, outputTokens: 0, clamped: false })
      expect(await reserve({ ...call, reservationId: randomUUID() })).toMatchObject({
        status: 'insufficient-credits',
      })
    })

    test('the same call again gets the same answer and holds nothing more', async () => {
      const { accountId, keyId } = await database.createAccount(10_000n)
      const call = reserveCall(keyId)
      const first = await reserve(call)
      expect(await reserve(call)).toEqual(first)
      expect(await database.money.reserve([call, call])).toEqual([first, first])
      expect(await database.balance(accountId)).toMatchObject({ held: 700n, openHolds: 1 })
    })

    test.each([
      ['another key', { keyId: randomUUID() }],
      ['another model', { model: 'odd' }],
      ['another input', { inputTokens: 101 }],
      ['another output', { outputTokens: 51 }],
      ['another deadline', { deadlineMs: START_MS + 600_001 }],
    ])('the same id with %s is a conflict, also inside one batch', async (_, change) => {
      const { accountId, keyId } = await database.createAccount(10_000n)
      const call = reserveCall(keyId)
      await reserve(call)
      expect(await reserve({ ...call, ...change })).toEqual({ status: 'conflict' })
      const fresh = reserveCall(keyId)
      const statuses = (await database.money.reserve([fresh, { ...fresh, ...change }])).map(
        ({ status }) => status,
      )
      expect(statuses).toEqual(['granted', 'conflict'])
      expect(await database.balance(accountId)).toMatchObject({ held: 1_400n })
    })

    // All 50 tokens cost 700, the 20 expected ones 400, the least 10 tokens 300.
    const rolling = { expectedTokens: 20, leastTokens: 10 }

    test.each([
      ['a rich account holds all wanted tokens', 5_600n, { amountNano: 700n, outputTokens: 50 }],
      ['another account the expected ones', 5_599n, { amountNano: 400n, outputTokens: 20 }],
      ['also with nothing to spare', 400n, { amountNano: 400n, outputTokens: 20 }],
    ])('of a hold that may grow %s', async (_, nano, hold) => {
      const { accountId, keyId } = await database.createAccount(nano)
      const call = reserveCall(keyId, { rolling })
      const answer = await reserve(call)
      expect(answer).toMatchObject({ ...hold, clamped: false })
      expect(await reserve(call)).toEqual(answer)
      expect(await database.balance(accountId)).toMatchObject({ held: hold.amountNano, openHolds: 1 })
    })

    test('a hold that may grow to no more than is expected is no hold that grows', async () => {
      const { keyId } = await database.createAccount(700n)
      const call = reserveCall(keyId, { rolling: { expectedTokens: 50, leastTokens: 10 } })
      expect(await reserve(call)).toMatchObject({ amountNano: 700n, clamped: false })
    })

    test('no less than the least is granted, where that is less than is expected', async () => {
      const { accountId, keyId } = await database.createAccount(699n)
      await reserve(reserveCall(keyId, { rolling }))
      const second = reserveCall(keyId, { rolling })
      expect(await reserve(second)).toEqual({
        status: 'insufficient-credits',
        availableNano: 299n,
        heldNano: 400n,
      })
      await database.operator.topUp(accountId, { nano: 1n, idempotencyKey: 'one' })
      expect(await reserve(second)).toMatchObject({ amountNano: 300n, outputTokens: 10, clamped: true })
      const few = reserveCall(keyId, { outputTokens: 5, rolling: { expectedTokens: 5, leastTokens: 5 } })
      await database.operator.topUp(accountId, { nano: 250n, idempotencyKey: 'few' })
      expect(await reserve(few)).toMatchObject({ amountNano: 250n, outputTokens: 5, clamped: false })
    })

    test('a spend limit is compared like a balance', async () => {
      const { accountId, keyId } = await database.createAccount(100_000n)
      const spendLimit = { amountNano: '650', period: 'day' } as const
      const limited = await database.operator.createKey(accountId, { spendLimit })
      await reserve(reserveCall(keyId))
      expect(await reserve(reserveCall(limited.keyId, { rolling }))).toMatchObject({
        amountNano: 400n,
        clamped: false,
      })
      expect(await reserve(reserveCall(limited.keyId, { rolling }))).toEqual({
        status: 'key-limit',
        availableNano: 250n,
        heldNano: 400n,
      })
      const less = { expectedTokens: 20, leastTokens: 5 }
      expect(await reserve(reserveCall(limited.keyId, { rolling: less }))).toMatchObject({
        amountNano: 250n,
        outputTokens: 5,
        clamped: true,
      })
    })

    test('in a batch each call is compared with what the earlier ones left', async () => {
      const { keyId } = await database.createAccount(6_299n)
      const answers = await database.money.reserve([
        reserveCall(keyId, { rolling }),
        reserveCall(keyId, { rolling }),
        reserveCall(keyId),
      ])
      expect(answers).toMatchObject([{ amountNano: 700n }, { amountNano: 400n }, { amountNano: 700n }])
    })

    test('serves the calls of one account in their order, each from what the earlier left', async () => {
      const { keyId } = await database.createAccount(1_000n)
      const batch = [
        reserveCall(keyId),
        reserveCall(keyId),
        reserveCall(keyId, { inputTokens: 1, outputTokens: 1 }),
      ]
      const answers = await database.money.reserve(batch)
      expect(answers).toMatchObject([
        { amountNano: 700n, clamped: false },
        { amountNano: 300n, outputTokens: 10, clamped: true },
        { status: 'insufficient-credits', availableNano: 0n },
      ])
    })

    test('refuses a key that is unknown, revoked, expired or of a closed account', async () => {
      const { accountId, keyId } = await database.createAccount(10_000n)
      expect(await reserve(reserveCall(randomUUID()))).toEqual({ status: 'key-invalid' })
      await database.pool.query('update api_keys set expires_at = $2 where id = $1', [
        keyId,
        new Date(START_MS),
      ])
      expect(await reserve(reserveCall(keyId))).toEqual({ status: 'key-invalid' })
      await database.pool.query('update api_keys set expires_at = $2 where id = $1', [
        keyId,
        new Date(START_MS + 1),
      ])
      expect(await reserve(reserveCall(keyId))).toMatchObject({ status: 'granted' })
      await database.pool.query("update accounts set status = 'closed' where id = $1", [accountId])
      expect(await reserve(reserveCall(keyId))).toEqual({ status: 'key-invalid' })
      const other = await database.createAccount(10_000n)
      await database.operator.revokeKey(other.keyId)
      expect(await reserve(reserveCall(other.keyId))).toEqual({ status: 'key-invalid' })
    })

    test('refuses a model that is not in the catalog', async () => {
      const { keyId } = await database.createAccount(10_000n)
      expect(await reserve(reserveCall(keyId, { model: 'unknown' }))).toEqual({ status: 'model-unknown' })
    })
  })

  describe('replace', () => {
    const replace = async (reservationId: string, inputTokens: number, outputTokens: number) =>
      only(await database.money.replace([{ reservationId, inputTokens, outputTokens }]))

    test('puts exact numbers in the place of the estimate, with the old hold counted as available', async () => {
      const { accountId, keyId } = await database.createAccount(1_000n)
      const { reservationId } = await held(keyId)
      expect(await replace(reservationId, 300, 50)).toMatchObject({
        status: 'granted',
        amountNano: 1_000n,
        outputTokens: 40,
        clamped: true,
      })
      expect(await database.balance(accountId)).toMatchObject({ held: 1_000n, openHolds: 1 })
    })

    test('works once: the same numbers get the same answer, others are a conflict', async () => {
      const { accountId, keyId } = await database.createAccount(10_000n)
      const { reservationId } = await held(keyId)
      const first = await replace(reservationId, 300, 50)
      expect(first).toMatchObject({ amountNano: 1_100n })
      expect(await replace(reservationId, 300, 50)).toEqual(first)
      expect(await replace(reservationId, 300, 51)).toEqual({ status: 'conflict' })
      expect(await database.balance(accountId)).toMatchObject({ held: 1_100n })
    })

    test('keeps the old hold when the exact numbers cannot be paid', async () => {
      const { accountId, keyId } = await database.createAccount(1_000n)
      const { reservationId } = await held(keyId)
      expect(await replace(reservationId, 500, 50)).toEqual({
        status: 'insufficient-credits',
        availableNano: 300n,
        heldNano: 700n,
      })
      expect(await database.balance(accountId)).toMatchObject({ held: 700n, openHolds: 1 })
    })

    test('refuses an id without a hold, and a key that was revoked meanwhile', async () => {
      const { keyId } = await database.createAccount(10_000n)
      expect(await replace(randomUUID(), 1, 1)).toEqual({ status: 'conflict' })
      const { reservationId } = await held(keyId)
      const gone = await held(keyId)
      await database.money.release([gone.reservationId])
      expect(await replace(gone.reservationId, 1, 1)).toEqual({ status: 'conflict' })
      await database.operator.revokeKey(keyId)
      expect(await replace(reservationId, 1, 1)).toEqual({ status: 'key-invalid' })
    })
  })

  describe('release', () => {
    test('gives the hold back, and again is the same', async () => {
      const { accountId, keyId } = await database.createAccount(1_000n)
      const { reservationId } = await held(keyId)
      expect(await database.money.release([reservationId, reservationId])).toEqual([true, true])
      expect(await database.money.release([reservationId])).toEqual([true])
      expect(await database.balance(accountId)).toEqual({ posted: 1_000n, held: 0n, openHolds: 0 })
    })

    test('of an unknown id refuses the reserve that arrives later', async () => {
      const { accountId, keyId } = await database.createAccount(1_000n)
      const call = reserveCall(keyId)
      expect(await database.money.release([call.reservationId])).toEqual([true])
      expect(await reserve(call)).toEqual({ status: 'conflict' })
      expect(await database.balance(accountId)).toMatchObject({ held: 0n })
    })

    test('comes too late for what was settled', async () => {
      const { keyId } = await database.createAccount(1_000n)
      const { reservationId } = await held(keyId)
      await settle(reservationId)
      expect(await database.money.release([reservationId])).toEqual([false])
    })
  })

  async function held(keyId: string, fields: Partial<ReserveCall> = {}) {
    const call = reserveCall(keyId, fields)
    const answer = await reserve(call)
    if (answer.status !== 'granted') throw new Error(`expected a hold, got ${answer.status}`)
    return { ...call, answer }
  }
})
