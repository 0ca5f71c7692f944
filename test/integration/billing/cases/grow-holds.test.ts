import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { createMoney } from '#apps/billing/money/money.ts'
import type { ResizeCall } from '#libs/billing-client/billing-calls.ts'
import {
  CHAT,
  EMBED,
  FREE_TOKENS,
  HOLD_GRACE_MS,
  ODD,
  only,
  receipts,
  reserveCall,
  setWatermark,
  settlement,
  START_MS,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { test } from '../support/billing-test.ts'

// The model 'chat' costs 2 nano-credits per input token and 10 per output token: 100 input and 50 output tokens hold
// 700.

const extend = async (database: BillingDatabase, call: ResizeCall) =>
  only(await database.money.resize([call]))
const toOutput = (database: BillingDatabase, reservationId: string, outputTokens: number) =>
  extend(database, { reservationId, outputTokens })

test('takes what the hold lacks for the wanted tokens in all', async ({ database }) => {
  const { accountId, reservationId } = await held(database, 10_000n)
  expect(await toOutput(database, reservationId, 80)).toMatchObject({
    status: 'granted',
    amountNano: 1_000n,
    outputTokens: 80,
    clamped: false,
  })
  expect(await database.balance(accountId)).toEqual({ posted: 10_000n, held: 1_000n, openHolds: 1 })
})

test('the same call again, a smaller one and one that overtook it take nothing more', async ({
  database,
}) => {
  const { accountId, reservationId } = await held(database, 10_000n)
  const first = await toOutput(database, reservationId, 80)
  expect(await toOutput(database, reservationId, 80)).toEqual(first)
  expect(await toOutput(database, reservationId, 60)).toMatchObject({ amountNano: 1_000n, outputTokens: 80 })
  expect(await database.balance(accountId)).toMatchObject({ held: 1_000n })
})

test('grants what the credits pay for, reports it as clamped, and grants the rest when there are more credits', async ({
  database,
}) => {
  const { accountId, reservationId } = await held(database, 905n)
  expect(await toOutput(database, reservationId, 80)).toMatchObject({
    amountNano: 900n,
    outputTokens: 70,
    clamped: true,
  })
  expect(await toOutput(database, reservationId, 80)).toEqual({
    status: 'insufficient-credits',
    availableNano: 5n,
    heldNano: 900n,
  })
  await database.operator.topUp(accountId, { nano: 1_000n, idempotencyKey: 'second' })
  expect(await toOutput(database, reservationId, 80)).toMatchObject({ amountNano: 1_000n, clamped: false })
})

test('does not call the limit of the model a shortage of money', async ({ database }) => {
  const { reservationId } = await held(database, 100_000n)
  expect(await toOutput(database, reservationId, 5_000)).toMatchObject({
    outputTokens: CHAT.maxOutputTokens,
    clamped: false,
  })
})

test('counts the exact input once it is known, at the price of the reservation', async ({ database }) => {
  const { reservationId } = await held(database, 10_000n)
  await database.money.resize([{ reservationId, inputTokens: 300, outputTokens: 50 }])
  database.clock.nowMs += 1_000
  await database.loadModels([{ ...CHAT, outputPriceNano: '20000000' }, ODD, EMBED])
  expect(await toOutput(database, reservationId, 60)).toMatchObject({ amountNano: 1_200n, outputTokens: 60 })
  database.clock.nowMs += 1_000
  await database.loadModels([CHAT, ODD, EMBED])
})

test('a later deadline keeps the hold from expiring, an earlier one changes nothing', async ({
  database,
}) => {
  const { accountId, reservationId, deadlineMs } = await held(database, 1_000n)
  const later = deadlineMs + 3_600_000
  await extend(database, { reservationId, outputTokens: 0, deadlineMs: later })
  expect(await extend(database, { reservationId, outputTokens: 0, deadlineMs })).toMatchObject({
    amountNano: 700n,
  })
  await setWatermark(database, 'chat', later + HOLD_GRACE_MS + 30_000)
  await database.money.expire(100)
  expect(await database.balance(accountId)).toMatchObject({ openHolds: 1 })
  await setWatermark(database, 'chat', later + HOLD_GRACE_MS + 30_001)
  await database.money.expire(100)
  expect(await database.balance(accountId)).toMatchObject({ openHolds: 0 })
  await database.pool.query('delete from settlement_watermarks')
})

test('a replica with a shorter grace does not shorten the life of a hold', async ({ database }) => {
  const { accountId, reservationId, deadlineMs } = await held(database, 1_000n)
  const impatient = createMoney({
    pool: database.servicePool,
    receipts,
    holdGraceMs: 1_000,
    freeTokensPerHour: FREE_TOKENS,
    nowMs: () => START_MS,
  })
  await impatient.resize([{ reservationId, outputTokens: 60, deadlineMs }])
  await setWatermark(database, 'chat', deadlineMs + HOLD_GRACE_MS + 30_000)
  await database.money.expire(100)
  expect(await database.balance(accountId)).toMatchObject({ openHolds: 1 })
  await database.pool.query('delete from settlement_watermarks')
})

test('refuses an id without a hold, and a key that was revoked meanwhile; the hold stays as it was', async ({
  database,
}) => {
  expect(await toOutput(database, randomUUID(), 1)).toEqual({ status: 'conflict' })
  const { reservationId } = await held(database, 1_000n)
  await database.money.settle([settlement(reservationId)])
  expect(await toOutput(database, reservationId, 60)).toEqual({ status: 'conflict' })
  const other = await held(database, 10_000n)
  await database.operator.revokeKey(other.keyId)
  expect(await toOutput(database, other.reservationId, 60)).toEqual({ status: 'key-invalid' })
  expect(await database.balance(other.accountId)).toMatchObject({ held: 700n })
})

test('what the larger hold costs is charged', async ({ database }) => {
  const { accountId, reservationId } = await held(database, 10_000n)
  await toOutput(database, reservationId, 80)
  expect(await database.money.settle([settlement(reservationId, { completionTokens: 80 })])).toMatchObject([
    { result: 'charged', chargedNano: 1_000n },
  ])
  expect(await database.balance(accountId)).toEqual({ posted: 9_000n, held: 0n, openHolds: 0 })
})

async function held(database: BillingDatabase, nano: bigint) {
  const account = await database.createAccount(nano)
  const call = reserveCall(account.keyId)
  expect(await database.money.reserve([call])).toMatchObject([{ status: 'granted', amountNano: 700n }])
  return { ...account, ...call }
}
