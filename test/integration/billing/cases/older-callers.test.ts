import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import {
  only,
  openBillingDatabase,
  reserveCall,
  setWatermark,
  START_MS,
  type BillingDatabase,
} from '../support/billing-database.ts'

// A replica of the version before calls these functions while it is replaced.

let database: BillingDatabase

beforeAll(async () => {
  database = await openBillingDatabase()
})
afterEach(() => database.expectReconciled())
afterAll(() => database.close())

test('are told of a lack of credits where the key has its limit, in the numbers of the key', async () => {
  const { keyId } = await limited({ spendLimit: { amountNano: '1000', period: 'day' } })
  const id = await reserve(keyId, 50)
  expect(id).toMatchObject({ status: 'granted', amount: 700n })
  expect(await reserve(keyId, 50, 300)).toMatchObject({
    status: 'insufficient-credits',
    available: 300n,
    held: 700n,
  })
  const { rows } = await database.pool.query('select * from replace_v1($1, $2, $3, $4)', [
    [id.reservationId],
    [600],
    [50],
    new Date(START_MS),
  ])
  expect(only(rows)).toMatchObject({ status: 'insufficient-credits', available: 300n, held: 700n })
})

test('are told of an unknown model where the minute of the key is full', async () => {
  const { keyId } = await limited({ requestsPerMinute: 1 })
  expect(await reserve(keyId, 50)).toMatchObject({ status: 'granted' })
  expect(await reserve(keyId, 50)).toMatchObject({ status: 'model-unknown' })
})

test('release, settle and expire by the rules of now: budgets follow, write-offs are in the ledger', async () => {
  const { keyId } = await limited({ spendLimit: { amountNano: '2100', period: 'total' } })
  const [released, settled, expired] = [
    await reserve(keyId, 50),
    await reserve(keyId, 50),
    await reserve(keyId, 50),
  ]
  expect(await budget(keyId)).toEqual({ held: 2_100n, spent: 0n })
  await database.pool.query('select * from release_v1($1, $2)', [
    [released.reservationId],
    new Date(START_MS),
  ])
  const { rows } = await database.pool.query('select * from settle_v1($1, $2, $3, $4, $5, $6, $7, $8)', [
    [settled.reservationId],
    [1],
    ['completed'],
    [100],
    [0],
    [60],
    ['worker-1'],
    new Date(START_MS),
  ])
  expect(only(rows)).toMatchObject({ result: 'charged', cost: '800', charged: 700n })
  expect(await budget(keyId)).toEqual({ held: 700n, spent: 700n })
  await setWatermark(database, 'chat', START_MS + 86_400_000)
  await database.pool.query('select * from expire_v1(100, $1)', [new Date(START_MS)])
  expect(await budget(keyId)).toEqual({ held: 0n, spent: 700n })
  const states = await database.pool.query('select state from reservations where id = $1', [
    expired.reservationId,
  ])
  expect(states.rows).toEqual([{ state: 'expired' }])
})

async function limited(limits: object) {
  const { accountId } = await database.createAccount(10_000n)
  return await database.operator.createKey(accountId, limits)
}

async function reserve(keyId: string, output: number, input = 100) {
  const call = reserveCall(keyId)
  const { rows } = await database.pool.query('select * from reserve_v1($1, $2, $3, $4, $5, $6, $7, $8)', [
    [call.reservationId],
    [keyId],
    ['chat'],
    [input],
    [output],
    [new Date(call.deadlineMs)],
    '1 minute',
    new Date(START_MS),
  ])
  return { reservationId: call.reservationId, ...only(rows) }
}

async function budget(keyId: string) {
  const { rows } = await database.pool.query<{ held: bigint; spent: bigint }>(
    'select held, spent from key_budgets where key_id = $1',
    [keyId],
  )
  return only(rows)
}
