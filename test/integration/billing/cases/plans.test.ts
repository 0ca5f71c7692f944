import type { Pool } from 'pg'
import { expect } from 'vitest'
import { createMoney } from '#apps/billing/money/money.ts'
import { MONEY_BOUNDS, openPool, SERVICE_ROLE } from '#apps/billing/database/open-pool.ts'
import { uuidV7 } from '../../../support/uuid-v7.ts'
import {
  FREE_TOKENS,
  HOLD_GRACE_MS,
  log,
  only,
  receipts,
  reserveCall,
  settlement,
  START_MS,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { test as base } from '../support/file-database-test.ts'

const BATCH = 20
/** With so few rows, reading a whole index is cheaper than searching it for each call of a batch. */
const FEW_ROWS = 300
const MANY_ROWS = 60_000
/** The rows of one statement. Billing's connections end a statement after 5 s. */
const ROWS_AT_ONCE = 5_000
/** The most rows that two batches of all functions may read: each function reads the rows of a call a few times. */
const MOST_READ = 2 * BATCH * 100

const test = base.extend('keyId', async ({ database }) => {
  await database.pool.query('select prepare_months(at => $1)', [new Date(START_MS)])
  return (await database.createAccount(10_000_000n)).keyId
})

/**
 * A connection keeps its plans until the table is analyzed again. Meanwhile a busy service adds 50,000 rows a minute.
 */
test('a plan that was made while the month was young reads the rows of its calls alone when it has grown', async ({
  database,
  keyId,
}) => {
  await addRows(database, 1, FEW_ROWS)
  // Like autovacuum, this analyzes each partition, not the partitioned table.
  await database.pool.query(
    'vacuum analyze reservations_203001, usage_203001, reservations_default, usage_default',
  )
  const pool = await openPool({
    url: database.url,
    role: SERVICE_ROLE,
    bounds: { ...MONEY_BOUNDS, connections: 1 },
    log,
    waitMs: 5_000,
  })
  await runBatch(keyId, pool)
  await addRows(database, FEW_ROWS + 1, MANY_ROWS)
  await runBatch(keyId, pool)
  await endSession(database, pool)
  const read = await countRead(database)
  expect(read).toBeGreaterThan(2 * BATCH)
  expect(read).toBeLessThan(MOST_READ)
})

test('no statement of billing is compiled, which would take a hundred times as long as to run it', async ({
  database,
}) => {
  const { rows } = await database.servicePool.query('show jit')
  expect(rows).toEqual([{ jit: 'off' }])
})

/** Adds settled requests to the month. */
async function addRows(database: BillingDatabase, first: number, last: number): Promise<void> {
  for (let next = first; next <= last; next += ROWS_AT_ONCE)
    await addRowsAtOnce(database, next, Math.min(last, next + ROWS_AT_ONCE - 1))
}

async function addRowsAtOnce(database: BillingDatabase, first: number, last: number): Promise<void> {
  const values = [new Date(START_MS), first, last]
  const id = "(substr(first_id($1)::text, 1, 24) || lpad(to_hex(n), 12, '0'))::uuid"
  await database.pool.query(
    `insert into reservations (id, state, created_at) select ${id}, 'released', $1
     from generate_series($2::integer, $3::integer) as n`,
    values,
  )
  await database.pool.query(
    `insert into usage
     select ${id}, gen_random_uuid(), gen_random_uuid(), 'chat', 1, 1, 'completed', 1, 0, 1, 0, 0, false, 'w', $1
     from generate_series($2::integer, $3::integer) as n`,
    values,
  )
}

/** Runs one batch of each money function on the connection of `pool`. */
async function runBatch(keyId: string, pool: Pool): Promise<void> {
  const nowMs = () => START_MS
  const money = createMoney({
    pool,
    receipts,
    holdGraceMs: HOLD_GRACE_MS,
    freeTokensPerHour: FREE_TOKENS,
    nowMs,
  })
  const calls = Array.from({ length: BATCH }, () =>
    reserveCall(keyId, { reservationId: uuidV7(START_MS + 1) }),
  )
  const ids = calls.map(({ reservationId }) => reservationId)
  const exact = { inputTokens: 90, outputTokens: 40 }
  const longer = { outputTokens: 50, deadlineMs: START_MS + 700_000 }
  const holds = [
    await money.reserve(calls),
    await money.resize(ids.map((reservationId) => ({ reservationId, ...exact }))),
    await money.resize(ids.map((reservationId) => ({ reservationId, ...longer }))),
  ].flat()
  expect(new Set(holds.map(({ status }) => status))).toEqual(new Set(['granted']))
  const [returned, paid] = [ids.slice(0, 2), ids.slice(2)]
  expect(new Set(await money.release(returned))).toEqual(new Set([true]))
  const settled = await money.settle(paid.map((id) => settlement(id)))
  expect(new Set(settled.map(({ result }) => result))).toEqual(new Set(['charged']))
}

/** Ends the session of `pool`. PostgreSQL writes a session's counts at the latest when the session ends. */
async function endSession(database: BillingDatabase, pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid')
  const { pid } = only(rows)
  await pool.end()
  const isThere = async () =>
    (await database.pool.query('select from pg_stat_activity where pid = $1', [pid])).rows.length
  await expect.poll(isThere).toBe(0)
}

/** Returns the number of entries that index searches returned, over all sessions. */
async function countRead(database: BillingDatabase): Promise<number> {
  const { rows } = await database.pool.query<{ entries: number }>(
    `select sum(idx_tup_read)::float as entries from pg_stat_user_indexes
     where relname like any ('{reservations%,usage%}')`,
  )
  return only(rows).entries
}
