import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { InputOf } from '#libs/admin-contract/operation.ts'
import { uuidV7 } from '../../../support/uuid-v7.ts'
import { reserveCall, settlement, START_MS, type BillingDatabase } from '../support/billing-database.ts'
import { refusal } from '../support/operator.ts'
import { test } from '../support/own-database-test.ts'

const DAY_MS = 86_400_000

type Query = Partial<Record<keyof InputOf<typeof ADMIN.listRequests>, string | number | undefined>>

const list = async (database: BillingDatabase, query: Query = {}) =>
  await database.operator.call(ADMIN.listRequests, query)
const idsOf = async (database: BillingDatabase, query: Query = {}) =>
  (await list(database, query)).data.map(({ id }) => id)
const refusalOf = async (database: BillingDatabase, query: string) =>
  await database.operator.ask('GET', `/requests?${query}`)

/** Settles requests in one batch, so all at the same time. Returns their ids in the order of the list. */
async function settle(
  database: BillingDatabase,
  keyId: string,
  ends: readonly { model?: string; outcome?: 'completed' | 'fault' }[],
): Promise<string[]> {
  const { nowMs } = database.clock
  const calls = ends.map(({ model = 'chat' }) =>
    reserveCall(keyId, { reservationId: uuidV7(nowMs), model, deadlineMs: nowMs + 600_000 }),
  )
  await database.money.reserve(calls)
  const settlements = ends.map(({ outcome = 'completed' }, index) =>
    settlement(calls[index]?.reservationId ?? '', { outcome }),
  )
  await database.money.settle(settlements)
  return settlements.map(({ id }) => id).toSorted((a, b) => (a < b ? 1 : -1))
}

async function addTiming(
  database: BillingDatabase,
  id: string,
  [waited, first, ran]: readonly (number | null)[],
): Promise<void> {
  await database.servicePool.query(
    `insert into request_timings (reservation_id, waited_ms, ahead, first_token_ms, ran_ms, finish_reason, streamed, written_at)
     values ($1, $2, 3, $3, $4, 'stop', true, now())`,
    [id, waited, first, ran],
  )
}

describe('the list of requests', () => {
  test('has the settlement and the timing of each, the latest first', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(100_000n)
    const [first = ''] = await settle(database, keyId, [{}])
    database.clock.nowMs += 1
    const [second = ''] = await settle(database, keyId, [{ model: 'odd', outcome: 'fault' }])
    await addTiming(database, first, [14_200, 410, 5_900])
    const timing = {
      waitedMs: 14_200,
      ahead: 3,
      firstTokenMs: 410,
      ranMs: 5_900,
      finishReason: 'stop',
      errorCode: null,
      reasoningTokens: null,
      streamed: true,
    }
    const page = await list(database)
    expect(page).toMatchObject({ nextCursor: null, searchedTo: '2029-12-01T00:00:00.001Z' })
    expect(page.data).toEqual([
      expect.objectContaining({ id: second, model: 'odd', outcome: 'fault', chargedNano: '0', timing: null }),
      {
        id: first,
        accountId,
        keyId,
        model: 'chat',
        outcome: 'completed',
        promptTokens: 100,
        cachedTokens: 0,
        completionTokens: 50,
        costNano: '700',
        chargedNano: '700',
        writtenOffNano: '0',
        late: false,
        worker: 'worker-1',
        epoch: 1,
        settledAt: '2030-01-01T00:00:00.000Z',
        timing,
      },
    ])
    const read = async (request: string) =>
      (await database.operator.call(ADMIN.readRequest, { request })).timing
    expect([await read(first), await read(second)]).toEqual([timing, null])
  })

  test('comes in pages that lose and repeat nothing, also of one moment and across months', async ({
    database,
  }) => {
    const { keyId } = await database.createAccount(1_000_000n)
    const expected: string[] = []
    for (const atMs of [START_MS + 31 * DAY_MS - 1, START_MS + 31 * DAY_MS]) {
      await database.pool.query('select prepare_months(at => $1)', [new Date(atMs)])
      database.clock.nowMs = atMs
      expected.unshift(...(await settle(database, keyId, [{}, {}, {}, {}, {}])))
    }
    for (const filter of [{}, { key: keyId }, { model: 'chat' }, { outcome: 'completed' }]) {
      const found: string[] = []
      let cursor: string | undefined
      do {
        const page = await list(database, { ...filter, limit: 3, cursor })
        found.push(...page.data.map(({ id }) => id))
        cursor = page.nextCursor ?? undefined
      } while (cursor !== undefined)
      expect([filter, found]).toEqual([filter, expected])
    }
  })

  test('is filtered by account, key, model, outcome, duration and time', async ({ database }) => {
    const [ada, bob] = [await database.createAccount(100_000n), await database.createAccount(100_000n)]
    const [slow = ''] = await settle(database, ada.keyId, [{}])
    database.clock.nowMs += 1_000
    const [quick = ''] = await settle(database, bob.keyId, [{ model: 'odd' }])
    database.clock.nowMs += 1_000
    const [failed = ''] = await settle(database, bob.keyId, [{ outcome: 'fault' }])
    await addTiming(database, slow, [500, 200, 300])
    await addTiming(database, quick, [null, 200, 799])
    expect(await idsOf(database)).toEqual([failed, quick, slow])
    expect(await idsOf(database, { account: ada.accountId })).toEqual([slow])
    expect(await idsOf(database, { key: bob.keyId })).toEqual([failed, quick])
    expect(await idsOf(database, { key: bob.keyId, account: ada.accountId })).toEqual([])
    expect(await idsOf(database, { key: bob.keyId, account: bob.accountId, outcome: 'fault' })).toEqual([
      failed,
    ])
    expect(await idsOf(database, { model: 'odd' })).toEqual([quick])
    expect(await idsOf(database, { outcome: 'fault' })).toEqual([failed])
    expect(await idsOf(database, { outcome: 'completed' })).toEqual([quick, slow])
    expect(await idsOf(database, { minMs: 0 })).toEqual([quick, slow])
    expect(await idsOf(database, { minMs: 1_000 })).toEqual([slow])
    expect(await idsOf(database, { minMs: 1_001 })).toEqual([])
    expect(await idsOf(database, { from: '2030-01-01T00:00:01Z', to: '2030-01-01T00:00:02Z' })).toEqual([
      quick,
    ])
  })

  test('looks through a bounded number of requests, and says how far', async ({
    damagedDatabase: database,
  }) => {
    const { accountId, keyId } = await database.createAccount(100_000n)
    const [rare = ''] = await settle(database, keyId, [{ model: 'odd' }])
    await database.pool.query(
      `insert into usage
       select gen_random_uuid(), $1, $2, 'chat', 1, 1, 'completed', 0, 0, 0, 0, 0, false, 'w',
         $3::timestamptz + n * interval '1 ms'
       from generate_series(1, 20001) as n`,
      [accountId, keyId, new Date(START_MS)],
    )
    database.clock.nowMs += 60_000
    const page = await list(database, { model: 'odd' })
    expect(page).toMatchObject({ data: [], searchedTo: '2030-01-01T00:00:00.002Z' })
    const next = await list(database, { model: 'odd', cursor: page.nextCursor ?? undefined })
    expect(next.data.map(({ id }) => id)).toEqual([rare])
    expect(next.nextCursor).toBe(null)
    expect(await idsOf(database, { outcome: 'fault' })).toEqual([])
  })

  test.for([
    ['from=2030-01-02T00:00:00Z&to=2030-01-02T00:00:00Z', 'to'],
    ['from=2029-12-01T00:00:00Z&to=2030-01-01T00:00:01Z', 'from'],
    ['from=2029-01-01', 'from'],
    ['minMs=-1', 'minMs'],
    ['outcome=lost', 'outcome'],
    ['cursor=W10', 'cursor'],
    [`cursor=${Buffer.from('["2030-01-01","x"]').toString('base64url')}`, 'cursor'],
  ] as const)('refuses what has no bound or no meaning: %s', async ([query, param], { database }) => {
    expect(await refusalOf(database, query)).toEqual({ status: 400, body: refusal('invalid_request', param) })
  })

  test('of an account or a key may cover a year; of one that does not exist it is unknown', async ({
    database,
  }) => {
    const { accountId, keyId } = await database.createAccount(1n)
    const year = 'from=2029-01-01T00:00:00Z&to=2030-01-01T00:00:00Z'
    expect((await refusalOf(database, `${year}&account=${accountId}`)).status).toBe(200)
    expect((await refusalOf(database, `${year}&key=${keyId}`)).status).toBe(200)
    const beyond = 'from=2028-12-30T00:00:00Z&to=2030-01-01T00:00:00Z'
    expect(await refusalOf(database, `${beyond}&key=${keyId}`)).toEqual({
      status: 400,
      body: refusal('invalid_request', 'from'),
    })
    for (const filter of [`account=${randomUUID()}`, `key=${randomUUID()}`]) {
      expect(await refusalOf(database, filter)).toEqual({ status: 404, body: refusal('not_found') })
    }
    expect(await refusalOf(database, 'model=chatt')).toEqual({
      status: 404,
      body: refusal('not_found', 'model'),
    })
  })

  test('begins after the archived months, and says where the requests of these are', async ({ database }) => {
    await database.pool.query(
      `insert into ledger_archives
       select '2029-12-01', 1, 0, sha256(''), sha256(''), 0, sha256(''), 0, sha256(''), 0, sha256(''), sha256(''), now()`,
    )
    expect(await list(database)).toMatchObject({ data: [], searchedTo: '2030-01-01T00:00:00.000Z' })
    for (const query of ['from=2029-12-31T23:59:59Z&to=2030-01-02T00:00:00Z', 'to=2029-12-31T23:59:59Z']) {
      expect(await refusalOf(database, query)).toEqual({ status: 410, body: refusal('archived', 'from') })
    }
  })
})
