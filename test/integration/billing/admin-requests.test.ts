import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  START_MS,
  openBillingDatabase,
  reserveCall,
  setWatermark,
  settlement,
  type BillingDatabase,
} from './billing-database.ts'
import { refusal, type Operator } from './operator.ts'

let database: BillingDatabase

beforeAll(async () => {
  database = await openBillingDatabase()
})
beforeEach(() => {
  database.clock.nowMs = START_MS
})
afterEach(() => database.expectReconciled())
afterAll(() => database.close())

const ask: Operator['ask'] = (...asked) => database.operator.ask(...asked)
const Page = z.object({ data: z.array(z.record(z.string(), z.unknown())), nextCursor: z.string().nullable() })
const list = async (path: string) => Page.parse((await ask('GET', path)).body)

describe('open holds', () => {
  test('are listed by account, model and age, in pages', async () => {
    const { accountId, keyId } = await database.createAccount(10_000n)
    const calls = [reserveCall(keyId), reserveCall(keyId, { model: 'odd' }), reserveCall(keyId)]
    for (const call of calls) {
      await database.money.reserve([call])
      database.clock.nowMs += 10_000
    }
    const ids = calls.map(({ reservationId }) => reservationId)
    const path = `/holds?account=${accountId}`
    const first = await list(`${path}&limit=2`)
    expect(first.data.map(({ id }) => id)).toEqual([ids[2], ids[1]])
    const second = await list(`${path}&limit=2&cursor=${first.nextCursor}`)
    expect(second).toEqual({
      data: [
        {
          id: ids[0],
          accountId,
          keyId,
          model: 'chat',
          amountNano: '700',
          inputTokens: 100,
          grantedTokens: 50,
          createdAt: '2030-01-01T00:00:00.000Z',
          ageSeconds: 30,
          deadline: '2030-01-01T00:10:00.000Z',
          expiresAt: '2030-01-01T00:11:00.000Z',
        },
      ],
      nextCursor: null,
    })
    expect((await list(`${path}&model=odd`)).data.map(({ id }) => id)).toEqual([ids[1]])
    expect((await list(`${path}&olderThanSeconds=20`)).data.map(({ id }) => id)).toEqual([ids[1], ids[0]])
    await database.money.release(ids)
    expect(await list(path)).toEqual({ data: [], nextCursor: null })
    expect((await ask('GET', '/holds?model=nope')).status).toBe(404)
    expect(await ask('GET', `/holds?cursor=${Buffer.from(randomUUID()).toString('base64url')}`)).toEqual({
      status: 400,
      body: refusal('invalid_request', 'cursor'),
    })
  })

  test('can be given back by force, and a settlement that comes after it is an alarm', async () => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    const call = reserveCall(keyId)
    await database.money.reserve([call])
    const path = `/holds/${call.reservationId}/release`
    expect(await ask('POST', path)).toEqual({ status: 400, body: refusal('invalid_request', 'reason') })
    expect(await ask('POST', path, { reason: 'stuck' })).toEqual({
      status: 200,
      body: { id: call.reservationId, freedNano: '700', warning: expect.stringContaining('alarm') },
    })
    expect(await database.balance(accountId)).toEqual({ posted: 1_000n, held: 0n, openHolds: 0 })
    expect(await ask('POST', path, { reason: 'again' })).toEqual({ status: 409, body: refusal('conflict') })
    expect((await list(`/audit?target=${call.reservationId}`)).data).toMatchObject([
      { action: 'releaseHold', reason: 'stuck', details: { freedNano: '700' } },
    ])

    await database.money.settle([settlement(call.reservationId)])
    expect(await database.balance(accountId)).toMatchObject({ posted: 1_000n })
    const alarm = {
      requestId: call.reservationId,
      kind: 'released',
      worker: 'worker-1',
      completionTokens: 50,
    }
    expect((await list('/alarms?kind=released')).data).toContainEqual(expect.objectContaining(alarm))
    expect((await ask('GET', `/requests/${call.reservationId}`)).body).toMatchObject({
      hold: { state: 'released' },
      settlement: { chargedNano: '0', costNano: '700', writtenOffNano: '700' },
      alarms: [alarm],
    })
  })

  test('that nobody knows are not found, and not remembered either', async () => {
    const { keyId } = await database.createAccount(1_000n)
    const call = reserveCall(keyId)
    const answer = await ask('POST', `/holds/${call.reservationId}/release`, { reason: 'typing error' })
    expect(answer).toEqual({ status: 404, body: refusal('not_found') })
    expect(await database.money.reserve([call])).toMatchObject([{ status: 'granted' }])
  })

  test('that are settled cannot be given back', async () => {
    const { keyId } = await database.createAccount(1_000n)
    const call = reserveCall(keyId)
    await database.money.reserve([call])
    await database.money.settle([settlement(call.reservationId)])
    const answer = await ask('POST', `/holds/${call.reservationId}/release`, { reason: 'late' })
    expect(answer).toEqual({ status: 409, body: refusal('conflict') })
  })
})

describe('a request', () => {
  test('is shown whole, by its id and by the ids of its answers', async () => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    const call = reserveCall(keyId)
    const id = call.reservationId
    await database.money.reserve([call])
    await database.money.replace([{ reservationId: id, inputTokens: 90, outputTokens: 40 }])
    database.clock.nowMs += 5_000
    await database.money.settle([
      settlement(id, { epoch: 2, promptTokens: 90, cachedTokens: 40, completionTokens: 30, by: 'worker-7' }),
    ])
    const shown = await ask('GET', `/requests/${id}`)
    expect(shown).toEqual({
      status: 200,
      body: {
        id,
        accountId,
        keyId,
        model: 'chat',
        hold: {
          state: 'settled',
          amountNano: '580',
          estimatedInputTokens: 100,
          exactInputTokens: 90,
          wantedTokens: 40,
          grantedTokens: 40,
          clamped: false,
          createdAt: '2030-01-01T00:00:00.000Z',
          deadline: '2030-01-01T00:10:00.000Z',
          expiresAt: '2030-01-01T00:11:00.000Z',
          closedAt: '2030-01-01T00:00:05.000Z',
        },
        prices: {
          version: expect.stringMatching(/^\d+$/),
          effectiveFrom: '2030-01-01T00:00:00.000Z',
          inputPriceNano: '2000000',
          cachedInputPriceNano: '1000000',
          outputPriceNano: '10000000',
        },
        settlement: {
          outcome: 'completed',
          promptTokens: 90,
          cachedTokens: 40,
          completionTokens: 30,
          costNano: '440',
          chargedNano: '440',
          writtenOffNano: '0',
          late: false,
          worker: 'worker-7',
          epoch: 2,
          settledAt: '2030-01-01T00:00:05.000Z',
        },
        alarms: [],
      },
    })
    for (const prefix of ['chatcmpl-', 'cmpl-', 'resp_']) {
      expect(await ask('GET', `/requests/${prefix}${id}`)).toEqual(shown)
    }
  })

  test('is shown too when there is only a release or an alarm of it', async () => {
    const [released, unknown] = [randomUUID(), randomUUID()]
    await database.money.release([released])
    await database.money.settle([settlement(unknown)])
    const nothing = { accountId: null, model: null, hold: null, prices: null, settlement: null }
    expect((await ask('GET', `/requests/${released}`)).body).toMatchObject({ ...nothing, alarms: [] })
    expect((await ask('GET', `/requests/${unknown}`)).body).toMatchObject({
      ...nothing,
      alarms: [{ kind: 'unknown' }],
    })
  })

  test('that nobody knows is not found', async () => {
    expect(await ask('GET', `/requests/${randomUUID()}`)).toEqual({ status: 404, body: refusal('not_found') })
    expect(await ask('GET', '/requests/nonsense')).toEqual({
      status: 400,
      body: refusal('invalid_request', 'request'),
    })
  })
})

test('alarms come in pages, the newest first', async () => {
  const ids = [randomUUID(), randomUUID(), randomUUID()]
  for (const id of ids) await database.money.settle([settlement(id)])
  const first = await list('/alarms?limit=2')
  const second = await list(`/alarms?limit=1&cursor=${first.nextCursor}`)
  expect([...first.data, ...second.data].map(({ requestId }) => requestId)).toEqual(ids.toReversed())
})

test('write-offs show what no charge could cover', async () => {
  const { accountId, keyId } = await database.createAccount(700n)
  const [late, over] = [reserveCall(keyId), reserveCall(keyId)]
  await database.money.reserve([late])
  await setWatermark(database, 'chat', late.deadlineMs + 120_000)
  database.clock.nowMs += 700_000
  await database.money.expire(10)
  await database.money.reserve([{ ...over, deadlineMs: database.clock.nowMs + 1_000 }])
  await database.money.settle([settlement(late.reservationId)])
  await database.money.settle([settlement(over.reservationId, { completionTokens: 60 })])
  const { data } = await list(`/write-offs?account=${accountId}`)
  expect(data).toEqual([
    {
      requestId: over.reservationId,
      accountId,
      keyId,
      model: 'chat',
      costNano: '800',
      chargedNano: '700',
      writtenOffNano: '100',
      late: false,
      settledAt: '2030-01-01T00:11:40.000Z',
    },
    expect.objectContaining({
      requestId: late.reservationId,
      chargedNano: '0',
      writtenOffNano: '700',
      late: true,
    }),
  ])
  const first = await list(`/write-offs?account=${accountId}&limit=1`)
  const second = await list(`/write-offs?account=${accountId}&cursor=${first.nextCursor}`)
  expect([...first.data, ...second.data]).toEqual(data)
})

test('the audit log is found by who, what and when', async () => {
  const account = await database.operator.createAccount()
  database.clock.nowMs += 60_000
  await ask('POST', `/accounts/${account}/close`, { reason: 'unpaid' })
  const actions = async (query: string) =>
    (await list(`/audit?target=${account}&${query}`)).data.map(({ action }) => action)
  expect(await actions('')).toEqual(['closeAccount', 'createAccount'])
  expect(await actions('action=closeAccount')).toEqual(['closeAccount'])
  expect(await actions('actor=nobody')).toEqual([])
  expect(await actions('from=2030-01-01T00:01:00Z')).toEqual(['closeAccount'])
  expect(await actions('to=2030-01-01T00:01:00Z')).toEqual(['createAccount'])
  const first = await list(`/audit?target=${account}&limit=1`)
  expect((await list(`/audit?target=${account}&cursor=${first.nextCursor}`)).data).toMatchObject([
    { action: 'createAccount', actor: 'bootstrap', role: 'owner', reason: null },
  ])
})
