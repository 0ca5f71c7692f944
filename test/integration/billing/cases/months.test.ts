import type { PoolClient } from 'pg'
import { describe, expect } from 'vitest'
import { inTransaction } from '#apps/billing/database/open-pool.ts'
import { uuidV7 } from '../../../support/uuid-v7.ts'
import { only, reserveCall, settlement, START_MS, type BillingDatabase } from '../support/billing-database.ts'
import { test as base } from '../support/own-database-test.ts'

const FEBRUARY_MS = Date.parse('2030-02-01T00:00:00Z')
const MARCH_MS = Date.parse('2030-03-01T00:00:00Z')
const DAY_MS = 86_400_000

const test = base.extend(
  'partitionsOf',
  ({ database }) =>
    async (table: string, column: string, id: string) => {
      const { rows } = await database.pool.query<{ partition: string }>(
        `select tableoid::regclass::text as partition from ${table} where ${column} = $1`,
        [id],
      )
      return rows.map(({ partition }) => partition)
    },
)

describe('the partitions of a month', () => {
  test('are made once, with those of the next two, by whichever replica comes first', async ({
    database,
  }) => {
    const made = await Promise.all([
      prepare(database, START_MS),
      prepare(database, START_MS),
      prepare(database, START_MS),
    ])
    expect(made.flat().toSorted()).toEqual(
      ['ledger', 'request_timings', 'reservations', 'usage'].flatMap((table) =>
        ['203001', '203002', '203003'].map((month) => `${table}_${month}`),
      ),
    )
    expect(await prepare(database, START_MS + 1)).toEqual([])
    expect(await prepare(database, FEBRUARY_MS)).toEqual([
      'reservations_203004',
      'usage_203004',
      'request_timings_203004',
      'ledger_203004',
    ])
  })

  test('take over what came before they were made, and a repeated call still finds it', async ({
    database,
    partitionsOf,
  }) => {
    const { accountId, keyId } = await database.createAccount(10_000n)
    const [open, done] = [callAt(keyId, START_MS), callAt(keyId, START_MS + 1)]
    await database.money.reserve([open, done])
    const settled = await database.money.settle([settlement(done.reservationId)])
    expect(await partitionsOf('reservations', 'id', open.reservationId)).toEqual(['reservations_default'])

    await prepare(database, START_MS)
    expect(await partitionsOf('reservations', 'id', open.reservationId)).toEqual(['reservations_203001'])
    expect(await partitionsOf('usage', 'reservation_id', done.reservationId)).toEqual(['usage_203001'])
    expect(await database.money.reserve([open])).toMatchObject([{ status: 'granted' }])
    expect(await database.money.settle([settlement(done.reservationId)])).toEqual([
      { ...only(settled), result: 'replayed' },
    ])
    expect(await database.balance(accountId)).toEqual({ posted: 9_300n, held: 700n, openHolds: 1 })
    await database.expectReconciled()
  })

  test('are made another time while a reader has the table, and no caller waits long meanwhile', async ({
    database,
  }) => {
    const { keyId } = await database.createAccount(10_000n)
    await inTransaction(database.pool, async (reader) => {
      await reader.query('select from reservations')
      await expect(prepare(database, START_MS)).rejects.toMatchObject({ code: '55P03' })
      expect(await database.money.reserve([callAt(keyId, START_MS)])).toMatchObject([{ status: 'granted' }])
    })
    expect(await prepare(database, START_MS)).toHaveLength(12)
  })

  test('are left out where they would have to move many rows, and the month stays in the default partition', async ({
    database,
  }) => {
    await database.pool.query(
      `insert into reservations (id, state, created_at)
       select (substr(first_id($1)::text, 1, 24) || lpad(to_hex(n), 12, '0'))::uuid, 'released', $1
       from generate_series(1, 10001) as n`,
      [new Date(FEBRUARY_MS)],
    )
    const made = await prepare(database, START_MS)
    expect(made).toHaveLength(11)
    expect(made).not.toContain('reservations_203002')
  })

  test('refuse changes of the ledger, and the service has no rights on them', async ({ database }) => {
    await prepare(database, START_MS)
    await seal(database, START_MS)
    await database.createAccount(10n)
    const change = 'update ledger_203001 set amount = 1'
    await expect(database.pool.query(change)).rejects.toMatchObject({ code: '23001' })
    await expect(database.servicePool.query(change)).rejects.toMatchObject({ code: '42501' })
    await expect(database.servicePool.query('select from usage_203001')).rejects.toMatchObject({
      code: '42501',
    })
  })
})

describe("at a month's turn", () => {
  test.beforeEach(async ({ database }) => {
    await prepare(database, START_MS)
    await seal(database, START_MS)
  })

  test('a hold of the last millisecond is settled in the next month, once', async ({
    database,
    partitionsOf,
  }) => {
    const { accountId, keyId } = await database.createAccount(10_000n)
    const [last, first] = [callAt(keyId, FEBRUARY_MS - 1), callAt(keyId, FEBRUARY_MS)]
    database.clock.nowMs = FEBRUARY_MS - 1
    expect(await database.money.reserve([last, first])).toMatchObject([
      { status: 'granted' },
      { status: 'granted' },
    ])
    database.clock.nowMs = FEBRUARY_MS + 5_000
    await seal(database, FEBRUARY_MS + 5_000)
    const settlements = [settlement(last.reservationId), settlement(first.reservationId)]
    expect(await results(database, settlements)).toEqual(['charged', 'charged'])
    expect(await results(database, settlements)).toEqual(['replayed', 'replayed'])
    expect(await partitionsOf('usage', 'reservation_id', last.reservationId)).toEqual(['usage_203001'])
    expect(await partitionsOf('usage', 'reservation_id', first.reservationId)).toEqual(['usage_203002'])
    expect(await partitionsOf('ledger', 'ref', last.reservationId)).toEqual(['ledger_203002'])
    expect(await database.balance(accountId)).toEqual({ posted: 8_600n, held: 0n, openHolds: 0 })
    await database.expectReconciled()
  })

  test('a seal ends with the numbers of the old month, and the next one begins with those of the new', async ({
    database,
  }) => {
    const { accountId: other } = await database.createAccount(10_000n)
    const { keyId } = await database.createAccount(10_000n)
    await spend(database, keyId, FEBRUARY_MS - 1)
    const writer = await database.pool.connect()
    await writer.query('begin')
    await topUp(writer, other)
    const sealed = seal(database, FEBRUARY_MS)
    await expect
      .poll(async () => {
        const { rows } = await database.pool.query(
          "select from pg_stat_activity where state = 'active' and query like '%seal_ledger%' and wait_event = 'PgSleep'",
        )
        return rows.length
      })
      .toBe(1)
    // New entries now get numbers of February. This one is committed before the slow entry, which has a number of
    // January.
    await spend(database, keyId, FEBRUARY_MS)
    await writer.query('commit')
    writer.release()
    await sealed
    await seal(database, FEBRUARY_MS + DAY_MS)
    await seal(database, FEBRUARY_MS + 2 * DAY_MS)
    const { rows } = await database.pool.query(
      'select day::text, last_seq / 1000000000000 as month, entries from ledger_seals order by day',
    )
    expect(rows).toEqual([
      { day: '2030-01-01', month: 0n, entries: 0n },
      { day: '2030-02-01', month: 203001n, entries: 3n },
      { day: '2030-02-02', month: 203001n, entries: 1n },
      { day: '2030-02-03', month: 203002n, entries: 1n },
    ])
    await database.expectReconciled()
  })

  test('numbers go on in the old month while the new one has no partition', async ({ database }) => {
    const { keyId } = await database.createAccount(10_000n)
    const [june, july] = [Date.parse('2030-06-01T00:00:00Z'), Date.parse('2030-07-01T00:00:00Z')]
    await seal(database, june)
    await spend(database, keyId, june)
    expect(await newestMonth(database)).toBe(203_001n)
    await prepare(database, july)
    await seal(database, july)
    await spend(database, keyId, july)
    expect(await newestMonth(database)).toBe(203_007n)
    await database.expectReconciled()
  })

  async function newestMonth(database: BillingDatabase): Promise<bigint> {
    const { rows } = await database.pool.query<{ month: bigint }>(
      'select max(seq) / 1000000000000 as month from ledger',
    )
    return only(rows).month
  }
})

describe('a call of the present', () => {
  test('looks only into the partitions of its month', async ({ database }) => {
    await prepare(database, START_MS)
    await prepare(database, MARCH_MS)
    await seal(database, START_MS)
    const { keyId } = await database.createAccount(10_000n)
    database.clock.nowMs = MARCH_MS + 1_000
    const [charged, released] = [callAt(keyId, MARCH_MS), callAt(keyId, MARCH_MS + 1)]
    const january = callAt(keyId, START_MS)
    await database.money.reserve([january])
    await database.money.settle([settlement(january.reservationId)])

    const looked = await inTransaction(database.pool, async (client) => {
      const at = new Date(database.clock.nowMs)
      for (const call of [charged, released]) {
        await client.query(
          `select * from reserve(ids => array[$1::uuid], key_ids => array[$2::uuid], models => '{chat}',
             inputs => '{100}', outputs => '{50}', deadlines => array[$3::timestamptz], grace => '1 minute', at => $3)`,
          [call.reservationId, keyId, at],
        )
      }
      await client.query(
        `select * from resize(ids => array[$1::uuid], inputs => '{100}', outputs => '{40}',
           deadlines => '{null}', choices => '{1}', grace => '1 minute', at => $2)`,
        [charged.reservationId, at],
      )
      await client.query('select * from release(ids => array[$1::uuid], at => $2)', [
        released.reservationId,
        at,
      ])
      await client.query(
        `select * from settle(ids => array[$1::uuid], epochs => '{1}', outcomes => '{completed}', prompts => '{100}',
           cacheds => '{0}', completions => '{10}', bys => '{w}', at => $2)`,
        [charged.reservationId, at],
      )
      return await listScanned(client)
    })
    expect(looked).toEqual(['reservations_203003', 'usage_203003'])
    await database.expectReconciled()
  })
})

function callAt(keyId: string, atMs: number) {
  return reserveCall(keyId, { reservationId: uuidV7(atMs), deadlineMs: atMs + 600_000 })
}

async function spend(database: BillingDatabase, keyId: string, atMs: number): Promise<void> {
  database.clock.nowMs = atMs
  const call = callAt(keyId, atMs)
  await database.money.reserve([call])
  await database.money.settle([settlement(call.reservationId)])
}

async function topUp(client: PoolClient, accountId: string): Promise<void> {
  await client.query(
    `select top_up(movement => gen_random_uuid(), account => $1, amount => 1, why => 'r', key => 'slow',
       at => '2030-01-31')`,
    [accountId],
  )
}

async function results(database: BillingDatabase, settlements: readonly ReturnType<typeof settlement>[]) {
  return (await database.money.settle(settlements)).map(({ result }) => result)
}

describe('timings', () => {
  test('of months that ended more than 90 days ago are dropped, and rows without a month deleted', async ({
    database,
  }) => {
    const ids = [START_MS, MARCH_MS].map((atMs) => uuidV7(atMs))
    await addTimings(database, [uuidV7(Date.parse('2029-12-15'))])
    await prepare(database, START_MS)
    await addTimings(database, ids)
    const ninety = 90 * DAY_MS
    expect(await forgetTimings(database, FEBRUARY_MS + ninety - 1)).toEqual([])
    expect(await readTimings(database)).toEqual(ids)
    expect(await forgetTimings(database, FEBRUARY_MS + ninety)).toEqual(['request_timings_203001'])
    expect(await readTimings(database)).toEqual([ids[1]])
    expect(await forgetTimings(database, FEBRUARY_MS + ninety)).toEqual([])
  })
})

async function addTimings(database: BillingDatabase, ids: readonly string[]) {
  await database.servicePool.query(
    'insert into request_timings (reservation_id, written_at) select unnest($1::uuid[]), now()',
    [ids],
  )
}

async function readTimings(database: BillingDatabase): Promise<string[]> {
  const { rows } = await database.servicePool.query<{ id: string }>(
    'select reservation_id as id from request_timings order by 1',
  )
  return rows.map(({ id }) => id)
}

async function forgetTimings(database: BillingDatabase, atMs: number): Promise<string[]> {
  const { rows } = await database.servicePool.query<{ dropped: string[] }>(
    'select forget_timings(at => $1) as dropped',
    [new Date(atMs)],
  )
  return only(rows).dropped
}

/** Prepares the months as the service does. */
async function prepare(database: BillingDatabase, atMs: number): Promise<string[]> {
  const { rows } = await database.servicePool.query<{ made: string[] }>(
    'select prepare_months(at => $1) as made',
    [new Date(atMs)],
  )
  return only(rows).made
}

async function seal(database: BillingDatabase, atMs: number): Promise<void> {
  await database.servicePool.query('select seal_ledger(at => $1)', [new Date(atMs)])
}

/** Returns the partitions that the transaction has searched, independent of its plans. */
async function listScanned(client: PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_stat_xact_user_tables
     where coalesce(idx_scan, 0) + seq_scan > 0 and relname ~ '_(\\d{6}|default|first)$' order by 1`,
  )
  return rows.map(({ name }) => name)
}
