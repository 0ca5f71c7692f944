import type { Pool } from 'pg'
import { expect } from 'vitest'
import { inTransaction } from '#apps/billing/database/open-pool.ts'
import type { ReserveCall } from '#libs/billing-client/billing-calls.ts'
import { uuidV7 } from '../../../support/uuid-v7.ts'
import {
  HOLD_GRACE_MS,
  only,
  reserveCall,
  setWatermark,
  settlement,
  START_MS,
  type BillingDatabase,
} from './billing-database.ts'

/** The polling ends before a statement gives up waiting for a lock. */
const PATIENT = { timeout: 4_000 }

/**
 * Makes twenty reserves at once with a key whose limit is enough for five. More than five of them wait for the
 * account's lock before the first one runs. Returns the answers.
 */
export async function reserveBehindLock(database: BillingDatabase): Promise<string[]> {
  const { money, operator, pool } = database
  const { accountId } = await database.createAccount(70_000n)
  const { keyId } = await operator.createKey(accountId, { spendLimit: { amountNano: '3500', period: 'day' } })
  const { answers } = await inTransaction(pool, async (client) => {
    await client.query('select from accounts where id = $1 for no key update', [accountId])
    const answers = Promise.all(
      Array.from({ length: 20 }, async () => only(await money.reserve([reserveCall(keyId)])).status),
    )
    await expect.poll(async () => await countWaiting(pool), PATIENT).toBeGreaterThan(5)
    return { answers }
  })
  return await answers
}

/**
 * A settlement that has found an open hold waits for a release of the same hold, which commits first. Returns the
 * settlement's result, and the amount that the account still holds for another reservation.
 */
export async function settleDuringRelease(
  database: BillingDatabase,
): Promise<{ result: string; held: bigint }> {
  const { money, pool } = database
  const { accountId, keyId } = await database.createAccount(7_000n)
  const call = reserveCall(keyId)
  const other = reserveCall(keyId)
  await money.reserve([call])
  await money.reserve([other])
  const { settling } = await inTransaction(pool, async (client) => {
    await client.query('select from release(ids => $1, at => $2)', [[call.reservationId], new Date(START_MS)])
    const settling = money.settle([settlement(call.reservationId)])
    await expect.poll(async () => await countWaiting(pool), PATIENT).toBe(1)
    return { settling }
  })
  const { result } = only(await settling)
  const { held } = await database.balance(accountId)
  return { result, held: held - 700n }
}

/**
 * A batch of two reserves, with the greater id first, waits for a transaction that has released the smaller id and then
 * releases the greater id too. Returns the batch's answers.
 */
export async function reserveDuringReleases({
  pool,
  money,
  createAccount,
}: BillingDatabase): Promise<string[]> {
  const { keyId } = await createAccount(7_000n)
  const [low, high] = [uuidV7(START_MS), uuidV7(START_MS + 1)].map((reservationId) =>
    reserveCall(keyId, { reservationId }),
  )
  if (low === undefined || high === undefined) throw new Error('there are no calls')
  const { answers } = await inTransaction(pool, async (client) => {
    const release = async ({ reservationId }: ReserveCall) => {
      await client.query('select from release(ids => $1, at => $2)', [[reservationId], new Date(START_MS)])
    }
    await release(low)
    const answers = money.reserve([high, low])
    await expect.poll(async () => await countWaiting(pool), PATIENT).toBe(1)
    await release(high)
    return { answers }
  })
  return (await answers).map(({ status }) => status)
}

/**
 * An expiry that has found an overdue hold waits for an extend that adds an hour. Returns the final state of the hold.
 */
export async function expireDuringExtend(database: BillingDatabase): Promise<string> {
  const { money, pool } = database
  const { keyId } = await database.createAccount(7_000n)
  const call = reserveCall(keyId)
  await money.reserve([call])
  await setWatermark(database, call.model, call.deadlineMs + HOLD_GRACE_MS + 30_001)
  const { expiry } = await inTransaction(pool, async (client) => {
    const resize = [[call.reservationId], [null], [0], [new Date(call.deadlineMs + 3_600_000)], [1]]
    await client.query(
      `select from resize(
        ids => $1, inputs => $2, outputs => $3, deadlines => $4, choices => $5, grace => '1 minute', at => $6)`,
      [...resize, new Date(START_MS)],
    )
    const expiry = money.expire(10_000)
    await expect.poll(async () => await countWaiting(pool), PATIENT).toBe(1)
    return { expiry }
  })
  await expiry
  const { rows } = await pool.query<{ state: string }>('select state from reservations where id = $1', [
    call.reservationId,
  ])
  return only(rows).state
}

/** Returns the number of sessions that wait for a lock. */
async function countWaiting(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::integer from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return only(rows).count
}
