import { expect } from 'vitest'
import { decodeTiming } from '#libs/contracts/settlement-timing.ts'
import { uuidV7 } from '../../../support/uuid-v7.ts'
import { reserveCall, settlement, type BillingDatabase } from '../support/billing-database.ts'
import { addSettlement } from '../support/settlement-replica.ts'
import { test } from '../support/settlement-test.ts'

const WAIT = { interval: 20 }

test('keeps how long each waited and ran, once, and charges also where that cannot be kept', async ({
  database,
  redis,
  start,
}) => {
  const account = await database.createAccount(100_000n)
  const [first, bare, last] = [uuidV7(Date.now()), uuidV7(Date.now()), uuidV7(Date.now())] as const
  for (const reservationId of [first, bare, last]) await hold(database, account.keyId, { reservationId })
  start()
  const timing = decodeTiming('14200,124,410,5900,tool_calls,,7,1')
  await addSettlement(redis, 'chat', { ...settlement(first), timing })
  await addSettlement(redis, 'chat', { ...settlement(first), timing: decodeTiming('1') })
  await addSettlement(redis, 'chat', settlement(bare))
  await expect.poll(() => charged(database, account.accountId), WAIT).toBe(1_400n)
  await expect
    .poll(() => readTimings(database), WAIT)
    .toEqual([
      {
        reservation_id: first,
        waited_ms: 14_200,
        ahead: 124,
        first_token_ms: 410,
        ran_ms: 5_900,
        finish_reason: 'tool_calls',
        error_code: null,
        reasoning_tokens: 7,
        streamed: true,
      },
    ])

  await database.pool.query('alter table request_timings rename to elsewhere')
  await addSettlement(redis, 'chat', { ...settlement(last), timing })
  await expect.poll(() => charged(database, account.accountId), WAIT).toBe(2_100n)
})

async function readTimings(database: BillingDatabase) {
  const { rows } = await database.pool.query<Record<string, unknown>>(
    `select reservation_id, waited_ms, ahead, first_token_ms, ran_ms, finish_reason, error_code, reasoning_tokens,
       streamed from request_timings`,
  )
  return rows
}

async function charged(database: BillingDatabase, accountId: string): Promise<bigint> {
  return 100_000n - (await database.balance(accountId)).posted
}

async function hold(
  database: BillingDatabase,
  keyId: string,
  fields: { reservationId: string },
): Promise<void> {
  const answers = await database.money.reserve([
    reserveCall(keyId, { deadlineMs: Date.now() + 600_000, ...fields }),
  ])
  expect(answers).toMatchObject([{ status: 'granted' }])
}
