import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { createTimingWriter } from '#apps/billing/settlements/write-timings.ts'
import type { BillingClient } from '#libs/billing-client/billing-client.ts'
import { decodeTiming } from '#libs/contracts/settlement-timing.ts'
import { uuidV7 } from '../../../support/uuid-v7.ts'
import {
  log,
  openBillingDatabase,
  reserveCall,
  settlement,
  START_MS,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { createPatientClient } from '../support/patient-client.ts'

let database: BillingDatabase
let billing: BillingClient

beforeEach(async () => {
  database = await openBillingDatabase()
  const { address, stop } = await database.serve()
  billing = createPatientClient({ address })
  onTestFinished(async () => {
    billing.close()
    await stop()
  })
})
afterEach(() => database.close())

test('a key reads its balance, its spending by period and its limit', async () => {
  const { keyId } = await database.createAccount(10_000n)
  await database.pool.query(`update api_keys set spend_limit = 5000, spend_period = 'month' where id = $1`, [
    keyId,
  ])
  const [open, done] = [callAt(keyId, START_MS), callAt(keyId, START_MS)]
  await database.money.reserve([open, done])
  await database.money.settle([settlement(done.reservationId)])
  expect(await billing.readKey({ keyId })).toMatchObject({
    label: expect.stringMatching(/^\S+…\S{4}$/),
    models: null,
    expiresAtMs: '0',
    limit: { amountNano: '5000', leftNano: '3600', period: 'month' },
    usage: { totalNano: '700', dayNano: '700', weekNano: '700', monthNano: '700' },
    postedNano: '9300',
    heldNano: '700',
    creditedNano: '10000',
  })
  expect(await billing.readKey({ keyId: uuidV7(START_MS) })).toBeNull()
})

test('a request is there from its hold on, and only for its key', async () => {
  const { keyId } = await database.createAccount(10_000n)
  const other = await database.createAccount(10_000n)
  const call = callAt(keyId, START_MS)
  await database.money.reserve([call])
  const { generation: running } = await billing.readGeneration({ keyId }, call.reservationId)
  expect(running).toMatchObject({ state: 'held', holdNano: '700', settled: null, timing: null })
  expect(running?.createdAtMs).toBe(String(START_MS))

  const timing = decodeTiming('0,,,5900,stop,,,1')
  await database.money.settle([settlement(call.reservationId)])
  const timings = createTimingWriter({ pool: database.servicePool, nowMs: () => START_MS, log })
  timings.add([{ id: call.reservationId, timing }])
  await timings.drain()
  const { generation } = await billing.readGeneration({ keyId }, call.reservationId)
  expect(generation).toMatchObject({
    state: 'settled',
    settled: { outcome: 'completed', chargedNano: '700' },
    timing: { waitedMs: 0, ranMs: 5_900, finishReason: 'stop', errorCode: '', streamed: true },
  })
  expect(generation?.timing).not.toHaveProperty('ahead')

  const nothing = { generation: null, archivedMonth: '' }
  expect(await billing.readGeneration({ keyId: other.keyId }, call.reservationId)).toEqual(nothing)
  expect(await billing.readGeneration({ keyId }, uuidV7(START_MS))).toEqual(nothing)
})

test('requests are listed newest first: those that run, then pages of settled ones', async () => {
  const { keyId } = await database.createAccount(100_000n)
  const calls = [0, 1, 2, 3, 4].map((n) => callAt(keyId, START_MS + n))
  await database.money.reserve(calls)
  const [running, ...settled] = calls.map(({ reservationId }) => reservationId)
  for (const id of settled) await database.money.settle([settlement(id)])
  const first = await billing.listGenerations({ keyId }, { limit: 3, cursor: '' })
  const rest = await billing.listGenerations({ keyId }, { limit: 3, cursor: first.nextCursor })
  const ids = [first, rest].map(({ generations }) => generations.map(({ id }) => id))
  expect(ids.flat()).toEqual([running, ...settled.toReversed()])
  expect(ids.map(({ length }) => length)).toEqual([4, 1])
  expect(rest.nextCursor).toBe('')
  await expect(billing.listGenerations({ keyId }, { limit: 3, cursor: 'x' })).rejects.toThrow(RangeError)
})

test('activity is summed up by day and model', async () => {
  const { keyId } = await database.createAccount(100_000n)
  const calls = [callAt(keyId, START_MS), callAt(keyId, START_MS)]
  await database.money.reserve(calls)
  await database.money.settle(calls.map(({ reservationId }) => settlement(reservationId)))
  const day = new Date(START_MS).toISOString().slice(0, 10)
  const { days } = await billing.readActivity({ keyId }, { from: day, to: day })
  expect(days).toMatchObject([{ day, model: 'chat', requests: '2', chargedNano: '1400' }])
  await expect(billing.readActivity({ keyId }, { from: '2028-01-01', to: day })).rejects.toThrow(RangeError)
  await expect(billing.readActivity({ keyId }, { from: 'x', to: day })).rejects.toThrow(RangeError)
})

const callAt = (keyId: string, atMs: number) => reserveCall(keyId, { reservationId: uuidV7(atMs) })
