import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BillingClient } from '#libs/billing-client/billing-client.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { settlementStreamKey } from '#libs/queue-redis/keys.ts'
import { createPostgres, type TestPostgres } from '../../../support/postgres.ts'
import { createRedis, type TestRedis } from '../../../support/redis.ts'
import {
  openBillingDatabase,
  reserveCall,
  settlement,
  type BillingDatabase,
  type BillingServer,
} from '../support/billing-database.ts'
import { addSettlement, connect, startReplica } from '../support/settlement-replica.ts'
import { createPatientClient } from '../support/patient-client.ts'

const WAIT = { interval: 50 }

let postgres: TestPostgres
let redis: TestRedis
let database: BillingDatabase
let server: BillingServer
let client: BillingClient

beforeAll(async () => {
  postgres = await createPostgres()
  redis = await createRedis()
  database = await openBillingDatabase({ url: postgres.url('postgres') })
  server = await database.serve()
  client = createPatientClient(server)
})
afterAll(async () => {
  client.close()
  await server.stop()
  await database.close()
  await Promise.all([postgres.stop(), redis.stop()])
})

test(
  'a killed PostgreSQL refuses money calls clearly, loses no settlement, and everything goes on when it is back',
  { timeout: 90_000 },
  async () => {
    const { accountId, keyId } = await database.createAccount(10_000n)
    const call = reserveCall(keyId)
    await client.reserve(call)
    const replica = startReplica({ database, redis: { mode: 'single', url: redis.url } })

    await postgres.kill()
    const unanswered = reserveCall(keyId)
    await expect(client.reserve(unanswered)).rejects.toBeInstanceOf(BillingUnavailable)
    const commands = connect(redis.url)
    await addSettlement(commands, 'chat', settlement(call.reservationId))
    commands.disconnect()

    await postgres.start()
    const later = reserveCall(keyId)
    await expect
      .poll(() => client.reserve(later).catch(() => null), WAIT)
      .toMatchObject({ status: 'granted' })
    // A gateway does the same: a call without an answer may still take effect, because a pooler keeps it until
    // PostgreSQL is back.
    await client.release(unanswered.reservationId)
    await expect
      .poll(() => database.balance(accountId), WAIT)
      .toEqual({ posted: 9_300n, held: 700n, openHolds: 1 })
    await replica.stop()
    await database.expectReconciled()
  },
)

test(
  'a replica that stops before it could commit leaves the settlement to another',
  { timeout: 90_000 },
  async () => {
    const { accountId, keyId } = await database.createAccount(10_000n)
    const call = reserveCall(keyId)
    await client.reserve(call)
    const commands = connect(redis.url)
    const given = async () => (await commands.xpending(settlementStreamKey('chat'), 'billing'))[0]
    const first = startReplica({ database, redis: { mode: 'single', url: redis.url } })
    await expect.poll(() => given().catch(() => null), WAIT).toBe(0)

    await postgres.kill()
    await addSettlement(commands, 'chat', settlement(call.reservationId))
    await expect.poll(given, WAIT).toBe(1)
    await first.stop()
    expect(await given()).toBe(1)

    await postgres.start()
    const second = startReplica({ database, redis: { mode: 'single', url: redis.url } })
    await expect
      .poll(() => database.balance(accountId), WAIT)
      .toEqual({ posted: 9_300n, held: 0n, openHolds: 0 })
    await expect.poll(given, WAIT).toBe(0)
    await second.stop()
    commands.disconnect()
    await database.expectReconciled()
  },
)
