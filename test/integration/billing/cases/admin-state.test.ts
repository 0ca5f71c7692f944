import { expect } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import {
  deadLetters,
  reserveCall,
  setWatermark,
  settlement,
  START_MS,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { test } from '../support/file-database-test.ts'

const DAY_MS = 86_400_000

const readState = async (database: BillingDatabase) => await database.operator.call(ADMIN.readState, {})

test('the state of an empty database says so', async ({ database }) => {
  expect(await readState(database)).toEqual({
    at: '2030-01-01T00:00:00.000Z',
    replica: 'replica-1',
    watermarks: [{ model: 'chat', ageMs: 400 }],
    moneyCallsWaiting: 0,
    reconciliation: null,
    overdueHolds: 0,
    alarms: [],
    deadLetters: [],
    writeOffs: { requests: 0, writtenOffNano: '0' },
  })
})

test('the state has the models with dead letters', async ({ database }) => {
  deadLetters.set('chat', 2).set('embed', 0)
  expect((await readState(database)).deadLetters).toEqual([{ model: 'chat', settlements: 2 }])
  deadLetters.clear()
})

test('the state has alarms and write-offs of 24 hours, overdue holds and the newest comparison', async ({
  database,
}) => {
  const { keyId } = await database.createAccount(100_000n)
  const [over, overdue] = [reserveCall(keyId), reserveCall(keyId)]
  await database.money.reserve([over, overdue])
  const unknown = () => settlement(crypto.randomUUID())
  // The usage has ten tokens more than the hold pays for.
  await database.money.settle([
    settlement(over.reservationId, { completionTokens: 60 }),
    unknown(),
    unknown(),
  ])
  await setWatermark(database, 'chat', overdue.deadlineMs + 60_000 + 330_000)
  expect((await readState(database)).overdueHolds).toBe(0)
  await setWatermark(database, 'chat', overdue.deadlineMs + 60_000 + 330_001)
  for (const [minute, rows] of [0, 1].entries()) {
    await database.pool.query('insert into reconciliation_runs (at, counts) values ($1, $2)', [
      new Date(START_MS + minute * 60_000),
      JSON.stringify([{ question: 'q', rows }]),
    ])
  }
  const state = await readState(database)
  expect(state).toMatchObject({
    reconciliation: { at: '2030-01-01T00:01:00.000Z', agrees: false, counts: [{ question: 'q', rows: 1 }] },
    overdueHolds: 1,
    alarms: [{ kind: 'unknown', settlements: 2 }],
    writeOffs: { requests: 1, writtenOffNano: '100' },
  })
  database.clock.nowMs += DAY_MS - 1
  expect(await readState(database)).toEqual({ ...state, at: '2030-01-01T23:59:59.999Z' })
  database.clock.nowMs += 1
  expect(await readState(database)).toMatchObject({
    overdueHolds: 1,
    alarms: [],
    writeOffs: { requests: 0, writtenOffNano: '0' },
  })
})
