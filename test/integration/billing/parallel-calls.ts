import type { Pool } from 'pg'
import { expect, vi } from 'vitest'
import { inTransaction } from '#apps/billing/database/open-pool.ts'
import {
  HOLD_GRACE_MS,
  only,
  reserveCall,
  setWatermark,
  START_MS,
  type BillingDatabase,
} from './billing-database.ts'

/** Twenty reserves at once on credits, or on a key's limit, for ten: how many were granted, and what else was said. */
export async function reserveInParallel(database: BillingDatabase, bound: 'credits' | 'key limit') {
  const { accountId, keyId } = await database.createAccount(bound === 'credits' ? 7_000n : 70_000n)
  if (bound === 'key limit') {
    await database.pool.query("update api_keys set spend_limit = 7000, spend_period = 'day' where id = $1", [
      keyId,
    ])
  }
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => only(await database.money.reserve([reserveCall(keyId)]))),
  )
  const refused = answers.map(({ status }) => status).filter((status) => status !== 'granted')
  return { accountId, granted: answers.length - refused.length, refusals: [...new Set(refused)] }
}

/** An expiry that has seen a hold overdue waits for an extend that gives it another hour: what becomes of the hold. */
export async function expireDuringExtend(database: BillingDatabase): Promise<string> {
  const { money, pool } = database
  const { keyId } = await database.createAccount(7_000n)
  const call = reserveCall(keyId)
  await money.reserve([call])
  await setWatermark(database, call.model, call.deadlineMs + HOLD_GRACE_MS + 30_001)
  const { expiry } = await inTransaction(pool, async (client) => {
    const extend = [[call.reservationId], [0], [new Date(call.deadlineMs + 3_600_000)]]
    await client.query("select from extend_v1($1, $2, $3, '1 minute', $4)", [...extend, new Date(START_MS)])
    const expiry = money.expire(10_000)
    await vi.waitFor(() => expectWaiting(pool))
    return { expiry }
  })
  await expiry
  const { rows } = await pool.query<{ state: string }>('select state from reservations where id = $1', [
    call.reservationId,
  ])
  return only(rows).state
}

async function expectWaiting(pool: Pool): Promise<void> {
  const { rowCount } = await pool.query(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  )
  expect(rowCount).toBe(1)
}
