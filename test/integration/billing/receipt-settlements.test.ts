import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Settlement } from '#libs/contracts/settlement.ts'
import {
  only,
  openBillingDatabase,
  receipts,
  reserveCall,
  settlement,
  setWatermark,
  START_MS,
  type BillingDatabase,
} from './billing-database.ts'

// 'chat' costs 2 nano-credits an input token and 10 an output token: 100 of the one and 50 of the other hold 700.

let database: BillingDatabase

beforeAll(async () => {
  database = await openBillingDatabase()
})
afterEach(() => database.expectReconciled())
afterAll(() => database.close())

const settle = async (id: string, fields: Partial<Settlement>) =>
  only(await database.money.settle([settlement(id, fields)]))

test('a reservation that the database has forgotten is charged by its receipt, once', async () => {
  const { accountId, reservationId, receipt } = await forgotten()
  expect(await settle(reservationId, { receipt })).toEqual({
    result: 'recovered',
    costNano: 700n,
    chargedNano: 700n,
  })
  expect(await settle(reservationId, { receipt })).toMatchObject({ result: 'replayed', chargedNano: 700n })
  expect(await database.balance(accountId)).toEqual({ posted: 9_300n, held: 0n, openHolds: 0 })
})

test('the charge ends at what the receipt says was held, and at what is available', async () => {
  const generous = await forgotten()
  expect(
    await settle(generous.reservationId, { receipt: generous.receipt, completionTokens: 500 }),
  ).toMatchObject({ costNano: 5_200n, chargedNano: 700n })
  const poor = await forgotten(1_000n)
  expect(await database.money.reserve([reserveCall(poor.keyId, { outputTokens: 20 })])).toMatchObject([
    { amountNano: 400n },
  ])
  expect(await settle(poor.reservationId, { receipt: poor.receipt })).toMatchObject({
    result: 'recovered',
    chargedNano: 600n,
  })
})

test('what failed costs nothing, and a reserve of it is refused from then on', async () => {
  const { accountId, reservationId, receipt, call } = await forgotten()
  expect(await settle(reservationId, { receipt, outcome: 'fault' })).toMatchObject({
    result: 'recovered',
    chargedNano: 0n,
  })
  expect(await database.money.reserve([call])).toEqual([{ status: 'conflict' }])
  expect(await database.balance(accountId)).toMatchObject({ posted: 10_000n, held: 0n })
})

test.each([
  ['that was tampered with', (text: string) => `A${text}`],
  ['of another reservation', () => receipts.sign(receiptOf({ reservationId: randomUUID() }))],
])('a receipt %s is worth nothing: the reservation stays unknown', async (_, change) => {
  const { accountId, reservationId, receipt } = await forgotten()
  expect(await settle(reservationId, { receipt: change(receipt) })).toMatchObject({ result: 'unknown' })
  expect(await database.balance(accountId)).toMatchObject({ posted: 10_000n })
})

test.each([
  ['an account', { accountId: randomUUID() }],
  ['a price', { priceVersion: 999_999n }],
  ['a price of another model', { model: 'odd' }],
])('a genuine receipt of %s that is not here leaves the reservation unknown', async (_, fields) => {
  const { reservationId, receipt } = await forgotten()
  const genuine = receipts.verify(receipt, reservationId)
  if (genuine === null) throw new Error('billing signs what it grants')
  const strange = receipts.sign({ ...genuine, ...fields })
  expect(await settle(reservationId, { receipt: strange })).toMatchObject({ result: 'unknown' })
  // It does not hide a receipt that is.
  const [first, second] = await database.money.settle([
    settlement(reservationId, { receipt: strange }),
    settlement(reservationId, { receipt }),
  ])
  expect([first?.result, second?.result]).toEqual(['recovered', 'replayed'])
})

test('a hold whose growth was forgotten counts as its receipt knows it, as far as that is available', async () => {
  const { keyId } = await database.createAccount(1_500n)
  const call = reserveCall(keyId)
  await database.money.reserve([call])
  const { receipt } = only(
    await database.money
      .extend([{ reservationId: call.reservationId, outputTokens: 120, deadlineMs: null }])
      .then((answers) => answers.filter((answer) => answer.status === 'granted')),
  )
  await shrink(call.reservationId)
  expect(await settle(call.reservationId, { receipt, completionTokens: 120 })).toMatchObject({
    result: 'charged',
    chargedNano: 1_400n,
  })
})

test('a receipt of another account does not make a hold larger', async () => {
  const { keyId } = await database.createAccount(10_000n)
  const call = reserveCall(keyId)
  await database.money.reserve([call])
  const receipt = receipts.sign(receiptOf({ reservationId: call.reservationId, amountNano: 5_000n }))
  expect(await settle(call.reservationId, { receipt, completionTokens: 400 })).toMatchObject({
    chargedNano: 700n,
  })
})

test('a late settlement of a known hold needs no receipt, and one does not make it recovered', async () => {
  const { keyId } = await database.createAccount(10_000n)
  const call = reserveCall(keyId)
  const answer = only(await database.money.reserve([call]))
  await setWatermark(database, 'chat', START_MS + 86_400_000)
  await database.money.expire(100)
  const receipt = answer.status === 'granted' ? answer.receipt : ''
  expect(await settle(call.reservationId, { receipt })).toMatchObject({ result: 'late', chargedNano: 700n })
})

/** A hold that was made after the backup from which the database was restored. */
async function forgotten(nano = 10_000n) {
  const { accountId, keyId } = await database.createAccount(nano)
  const call = reserveCall(keyId)
  const answer = only(await database.money.reserve([call]))
  if (answer.status !== 'granted') throw new Error(`expected a hold, got ${answer.status}`)
  await database.pool.query('delete from reservations where id = $1', [call.reservationId])
  await database.pool.query('update accounts set held = 0 where id = $1', [accountId])
  return { accountId, keyId, call, reservationId: call.reservationId, receipt: answer.receipt }
}

/** The growth of 700 nano-credits came after the backup. */
async function shrink(reservationId: string) {
  await database.pool.query(
    `with shrunken as (
       update reservations set amount = amount - 700, granted_output = 50 where id = $1 returning account_id
     )
     update accounts a set held = a.held - 700 from shrunken s where a.id = s.account_id`,
    [reservationId],
  )
}

function receiptOf(fields: { reservationId: string; amountNano?: bigint }) {
  return {
    accountId: randomUUID(),
    keyId: randomUUID(),
    model: 'chat',
    inputTokens: 100,
    outputTokens: 50,
    deadlineMs: START_MS,
    priceVersion: 1n,
    grantedTokens: 50,
    amountNano: 700n,
    clamped: false,
    ...fields,
  }
}
