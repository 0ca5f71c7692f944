import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Receipt } from '#apps/billing/money/receipts.ts'
import type { HoldPrices, ReserveCall } from '#libs/billing-client/billing-calls.ts'
import {
  only,
  receipts,
  reserveCall,
  settlement,
  setWatermark,
  START_MS,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { test } from '../support/billing-test.ts'
import { readReceipt } from '../support/proven.ts'
import { settle } from '../support/single-calls.ts'

// The model 'chat' costs 2 nano-credits per input token and 10 per output token: 100 input and 50 output tokens hold
// 700.

const PRICES = { inputPriceNano: 2_000_000n, cachedInputPriceNano: 1_000_000n, outputPriceNano: 10_000_000n }

test('a reservation that the database has forgotten is charged by its receipt, once', async ({
  database,
}) => {
  const { accountId, reservationId, receipt } = await forgotten(database)
  expect(await settle(database, reservationId, { receipt })).toEqual({
    result: 'recovered',
    costNano: 700n,
    chargedNano: 700n,
  })
  expect(await settle(database, reservationId, { receipt })).toMatchObject({
    result: 'replayed',
    chargedNano: 700n,
  })
  expect(await database.balance(accountId)).toEqual({ posted: 9_300n, held: 0n, openHolds: 0 })
})

test('the charge is at most the hold in the receipt and the available credits', async ({ database }) => {
  const generous = await forgotten(database)
  expect(
    await settle(database, generous.reservationId, { receipt: generous.receipt, completionTokens: 500 }),
  ).toMatchObject({ costNano: 5_200n, chargedNano: 700n })
  const poor = await forgotten(database, 1_000n)
  expect(await database.money.reserve([reserveCall(poor.keyId, { outputTokens: 20 })])).toMatchObject([
    { amountNano: 400n },
  ])
  expect(await settle(database, poor.reservationId, { receipt: poor.receipt })).toMatchObject({
    result: 'recovered',
    chargedNano: 600n,
  })
})

test('what failed costs nothing, and a reserve of it is refused from then on', async ({ database }) => {
  const { accountId, reservationId, receipt, call } = await forgotten(database)
  expect(await settle(database, reservationId, { receipt, outcome: 'fault' })).toMatchObject({
    result: 'recovered',
    chargedNano: 0n,
  })
  expect(await database.money.reserve([call])).toEqual([{ status: 'conflict' }])
  expect(await database.balance(accountId)).toMatchObject({ posted: 10_000n, held: 0n })
})

test.for([
  ['that was tampered with', (text: string) => `A${text}`],
  ['of another reservation', () => receipts.sign(receiptOf({ reservationId: randomUUID() }))],
] as const)(
  'a receipt %s is worth nothing: the reservation stays unknown',
  async ([, change], { database }) => {
    const { accountId, reservationId, receipt } = await forgotten(database)
    expect(await settle(database, reservationId, { receipt: change(receipt) })).toMatchObject({
      result: 'unknown',
    })
    expect(await database.balance(accountId)).toMatchObject({ posted: 10_000n })
  },
)

test.for([
  ['an account', { accountId: randomUUID() }],
  ['a price', { cachedInputPriceNano: 1n }],
  ['a price of another model', { model: 'odd' }],
] as const)(
  'a genuine receipt of %s that is not here leaves the reservation unknown',
  async ([, fields], { database }) => {
    const { reservationId, receipt } = await forgotten(database)
    const strange = receipts.sign({ ...read(receipt, reservationId), ...fields })
    expect(await settle(database, reservationId, { receipt: strange })).toMatchObject({ result: 'unknown' })
    // Such a receipt does not hide a valid one in the same batch.
    const [first, second] = await database.money.settle([
      settlement(reservationId, { receipt: strange }),
      settlement(reservationId, { receipt }),
    ])
    expect([first?.result, second?.result]).toEqual(['recovered', 'replayed'])
  },
)

// After a restore, the numbers of price versions are used again.
test('the price is that of the receipt, whichever version has its number now', async ({ database }) => {
  const dearer = await publishForLater(database, { ...PRICES, inputPriceNano: 9_000_000n })
  const { accountId, reservationId, receipt } = await forgotten(database)
  const renumbered = receipts.sign({ ...read(receipt, reservationId), priceVersion: dearer })
  expect(await settle(database, reservationId, { receipt: renumbered, cachedTokens: 10 })).toEqual({
    result: 'recovered',
    costNano: 690n,
    chargedNano: 690n,
  })
  expect(await database.balance(accountId)).toMatchObject({ posted: 9_310n })
  const { rows } = await database.pool.query<{ price_version: bigint }>(
    'select price_version from usage where reservation_id = $1',
    [reservationId],
  )
  expect(only(rows).price_version).toBe(read(receipt, reservationId).priceVersion)
})

test('of several versions with its prices a receipt names the one that has its number', async ({
  database,
}) => {
  await publishForLater(database, PRICES)
  const { reservationId, receipt } = await forgotten(database)
  const twin = await publishForLater(database, PRICES)
  await publishForLater(database, PRICES)
  const renumbered = receipts.sign({ ...read(receipt, reservationId), priceVersion: twin })
  expect(await settle(database, reservationId, { receipt: renumbered })).toMatchObject({
    result: 'recovered',
  })
  const { rows } = await database.pool.query<{ price_version: bigint }>(
    'select price_version from usage where reservation_id = $1',
    [reservationId],
  )
  expect(only(rows).price_version).toBe(twin)
})

test("a recovered charge counts in its key's period of its deadline, or in the present one before that is over", async ({
  database,
}) => {
  const { accountId } = await database.createAccount(10_000n)
  const limits = { spendLimit: { amountNano: '2000', period: 'day' } }
  const { keyId } = await database.operator.createKey(accountId, limits)
  for (const day of ['2029-12-31', '2030-01-01', '2030-01-02']) {
    const deadlineMs = Date.parse(`${day}T12:00:00Z`)
    const { reservationId, receipt } = await forget(database, accountId, reserveCall(keyId, { deadlineMs }))
    expect(await settle(database, reservationId, { receipt })).toMatchObject({
      result: 'recovered',
      chargedNano: 700n,
    })
  }
  const { rows } = await database.pool.query<{ day: string; held: bigint; spent: bigint }>(
    `select to_char(period_start at time zone 'UTC', 'YYYY-MM-DD') as day, held, spent from key_budgets
     where key_id = $1 order by period_start`,
    [keyId],
  )
  expect(rows).toEqual([
    { day: '2029-12-31', held: 0n, spent: 700n },
    { day: '2030-01-01', held: 0n, spent: 1_400n },
  ])
  expect(await database.money.reserve([reserveCall(keyId)])).toMatchObject([
    { status: 'granted', amountNano: 600n, clamped: true },
  ])
})

test('a hold whose growth was forgotten counts as its receipt knows it, as far as that is available', async ({
  database,
}) => {
  const { keyId } = await database.createAccount(1_500n)
  const call = reserveCall(keyId)
  await database.money.reserve([call])
  const { receipt } = only(
    await database.money
      .resize([{ reservationId: call.reservationId, outputTokens: 120 }])
      .then((answers) => answers.filter((answer) => answer.status === 'granted')),
  )
  await shrink(database, call.reservationId)
  expect(await settle(database, call.reservationId, { receipt, completionTokens: 120 })).toMatchObject({
    result: 'charged',
    chargedNano: 1_400n,
  })
})

test('a receipt of another account does not make a hold larger', async ({ database }) => {
  const { keyId } = await database.createAccount(10_000n)
  const call = reserveCall(keyId)
  await database.money.reserve([call])
  const receipt = receipts.sign(receiptOf({ reservationId: call.reservationId, amountNano: 5_000n }))
  expect(await settle(database, call.reservationId, { receipt, completionTokens: 400 })).toMatchObject({
    chargedNano: 700n,
  })
})

test('a late settlement of a known hold needs no receipt, and one does not make it recovered', async ({
  database,
}) => {
  const { keyId } = await database.createAccount(10_000n)
  const call = reserveCall(keyId)
  const answer = only(await database.money.reserve([call]))
  await setWatermark(database, 'chat', START_MS + 86_400_000)
  await database.money.expire(100)
  const receipt = answer.status === 'granted' ? answer.receipt : ''
  expect(await settle(database, call.reservationId, { receipt })).toMatchObject({
    result: 'late',
    chargedNano: 700n,
  })
})

/** Returns a hold that the database has lost: it was made after the backup that was restored. */
async function forgotten(database: BillingDatabase, nano = 10_000n) {
  const { accountId, keyId } = await database.createAccount(nano)
  return { keyId, ...(await forget(database, accountId, reserveCall(keyId))) }
}

async function forget(database: BillingDatabase, accountId: string, call: ReserveCall) {
  const answer = only(await database.money.reserve([call]))
  if (answer.status !== 'granted') throw new Error(`expected a hold, got ${answer.status}`)
  await database.pool.query('delete from reservations where id = $1', [call.reservationId])
  await database.pool.query('update accounts set held = 0 where id = $1', [accountId])
  await database.pool.query('update key_budgets set held = 0 where key_id = $1', [call.keyId])
  await database.pool.query('delete from key_budgets where key_id = $1 and spent = 0', [call.keyId])
  return { accountId, call, reservationId: call.reservationId, receipt: answer.receipt }
}

let published = 0

/** Publishes another price of `chat` that never takes effect in this test. Returns its version number. */
async function publishForLater(database: BillingDatabase, prices: HoldPrices): Promise<bigint> {
  published += 1
  const { rows } = await database.pool.query<{ id: bigint }>(
    `insert into price_versions (model, effective_from, input_price, cached_input_price, output_price)
     values ('chat', '2040-01-01'::timestamptz + make_interval(secs => $1), $2, $3, $4) returning id`,
    [published, prices.inputPriceNano, prices.cachedInputPriceNano, prices.outputPriceNano],
  )
  return only(rows).id
}

function read(receipt: string, reservationId: string): Receipt {
  const genuine = readReceipt(receipt, reservationId)
  if (genuine === null) throw new Error('billing signs what it grants')
  return genuine
}

/** Reduces a hold by 700 nano-credits, as if it had grown by this amount after the backup. */
async function shrink(database: BillingDatabase, reservationId: string) {
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
    ...PRICES,
    grantedTokens: 50,
    amountNano: 700n,
    clamped: false,
    ...fields,
  }
}
