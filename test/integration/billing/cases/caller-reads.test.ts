import { expect } from 'vitest'
import { createTimingWriter } from '#apps/billing/settlements/write-timings.ts'
import { decodeTiming } from '#libs/contracts/settlement-timing.ts'
import { uuidV7 } from '../../../support/uuid-v7.ts'
import { askAs, refused } from '../support/ask-as.ts'
import { log, reserveCall, settlement, START_MS } from '../support/billing-database.ts'
import { createPatientClient } from '../support/patient-client.ts'
import { test as base } from '../support/own-database-test.ts'

const test = base.extend('billing', async ({ database }, { onCleanup }) => {
  const { address, stop } = await database.serve()
  const billing = createPatientClient({ address })
  onCleanup(async () => {
    billing.close()
    await stop()
  })
  return billing
})

test('a key reads its balance, its spending by period and its limit', async ({ database, billing }) => {
  const { keyId } = await database.createAccount(10_000n)
  await database.pool.query(`update api_keys set spend_limit = 5000, spend_period = 'month' where id = $1`, [
    keyId,
  ])
  const [open, done] = [callAt(keyId, START_MS), callAt(keyId, START_MS)]
  await database.money.reserve([open, done])
  await database.money.settle([settlement(done.reservationId)])
  const ask = askAs(billing, { keyId })
  expect((await ask('readKey')).data).toMatchObject({
    label: expect.stringMatching(/^\S+…\S{4}$/),
    models: null,
    expires_at: null,
    is_management_key: false,
    usage: 7e-7,
    usage_daily: 7e-7,
    limit: 5e-6,
    limit_remaining: 3.6e-6,
    limit_reset: 'monthly',
    available: 8.6e-6,
    held: 7e-7,
    spendable: 3.6e-6,
    nano: {
      limit: '5000',
      limit_remaining: '3600',
      usage: '700',
      usage_daily: '700',
      usage_weekly: '700',
      usage_monthly: '700',
      available: '8600',
      held: '700',
      spendable: '3600',
    },
  })
  expect((await ask('readCredits')).data).toEqual({
    total_credits: 1e-5,
    total_usage: 7e-7,
    available: 8.6e-6,
    held: 7e-7,
    nano: { total_credits: '10000', total_usage: '700', available: '8600', held: '700' },
  })
  await database.pool.query(
    `update api_keys set spend_limit = 6600000001, spend_period = 'total' where id = $1`,
    [keyId],
  )
  expect((await ask('readKey')).data).toMatchObject({
    limit: 6.600000001,
    limit_remaining: 6.600000001,
    limit_reset: null,
    spendable: 8.6e-6,
    nano: { limit: '6600000001', limit_remaining: '6600000001', spendable: '8600' },
  })
  const unknown = askAs(billing, { keyId: uuidV7(START_MS) })
  await expect(unknown('readKey')).rejects.toMatchObject(refused('invalid_key'))
  await expect(unknown('readCredits')).rejects.toMatchObject(refused('invalid_key'))
})

test('a request is there from its hold on, and only for its key', async ({ database, billing }) => {
  const { keyId } = await database.createAccount(10_000n)
  const other = await database.createAccount(10_000n)
  const call = callAt(keyId, START_MS)
  await database.money.reserve([call])
  const readAs = async (asker: string, id: string) =>
    (await askAs(billing, { keyId: asker })('readGeneration', { query: { id } })).data
  expect(await readAs(keyId, call.reservationId)).toMatchObject({
    status: 'running',
    outcome: null,
    created_at: new Date(START_MS).toISOString(),
    hold: { nano: '700', clamped: false },
    tokens_prompt: null,
    waited_ms: null,
    nano: { total_cost: null },
  })

  const timing = decodeTiming('0,,,5900,stop,,,1')
  await database.money.settle([settlement(call.reservationId)])
  const timings = createTimingWriter({ pool: database.servicePool, nowMs: () => START_MS, log })
  timings.add([{ id: call.reservationId, timing }])
  await timings.drain()
  expect(await readAs(keyId, call.reservationId)).toMatchObject({
    status: 'settled',
    outcome: 'completed',
    cancelled: false,
    waited_ms: 0,
    ahead: null,
    latency: null,
    generation_time: 5_900,
    finish_reason: 'stop',
    error_code: null,
    streamed: true,
    nano: { total_cost: '700' },
  })

  const notFound = refused('generation_not_found', 'id')
  await expect(readAs(other.keyId, call.reservationId)).rejects.toMatchObject(notFound)
  await expect(readAs(keyId, uuidV7(START_MS))).rejects.toMatchObject(notFound)
})

test('requests are listed newest first: those that run, then pages of settled ones', async ({
  database,
  billing,
}) => {
  const { keyId } = await database.createAccount(100_000n)
  const calls = [0, 1, 2, 3, 4].map((n) => callAt(keyId, START_MS + n))
  await database.money.reserve(calls)
  const [running, ...settled] = calls.map(({ reservationId }) => reservationId)
  for (const id of settled) await database.money.settle([settlement(id)])
  const page = async (cursor?: string | null) =>
    await askAs(billing, { keyId })('listGenerations', {
      query: { limit: 3, ...(cursor != null && { cursor }) },
    })
  const first = await page()
  const rest = await page(first.next_cursor)
  const ids = [first, rest].map(({ data }) => data.map(({ id }) => id))
  expect(ids.flat()).toEqual([running, ...settled.toReversed()])
  expect(ids.map(({ length }) => length)).toEqual([4, 1])
  expect(rest.next_cursor).toBeNull()
  await expect(page('x')).rejects.toMatchObject(refused('invalid_request', 'cursor'))
})

test('activity is summed up by day and model', async ({ database, billing }) => {
  const { keyId } = await database.createAccount(100_000n)
  const calls = [callAt(keyId, START_MS), callAt(keyId, START_MS)]
  await database.money.reserve(calls)
  await database.money.settle(calls.map(({ reservationId }) => settlement(reservationId)))
  const day = new Date(START_MS).toISOString().slice(0, 10)
  const read = async (query: object) => (await askAs(billing, { keyId })('readActivity', { query })).data
  const sum = [{ date: day, model: 'chat', requests: 2, nano: { usage: '1400' } }]
  expect(await read({ from: day, to: day })).toMatchObject(sum)
  expect(await read({})).toMatchObject(sum)
  expect(await read({ to: '2029-12-31' })).toEqual([])
  await expect(read({ from: '2028-01-01', to: day })).rejects.toMatchObject(
    refused('invalid_request', 'from'),
  )
  await expect(read({ from: '2028-01-01' })).rejects.toMatchObject(refused('invalid_request', 'from'))
  await expect(read({ from: '2030-01-03' })).rejects.toMatchObject(refused('invalid_request', 'to'))
  await expect(read({ from: 'x', to: day })).rejects.toMatchObject(refused('invalid_request', 'from'))
})

const callAt = (keyId: string, atMs: number) => reserveCall(keyId, { reservationId: uuidV7(atMs) })
