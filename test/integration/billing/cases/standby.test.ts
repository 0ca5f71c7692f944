import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { watchReadiness } from '#apps/billing/database/watch-readiness.ts'
import { createReplicatedPostgres, type ReplicatedPostgres } from '../../../support/replicated-postgres.ts'
import {
  log,
  openBillingDatabase,
  reserveCall,
  settlement,
  type BillingDatabase,
} from '../support/billing-database.ts'

let postgres: ReplicatedPostgres
let database: BillingDatabase

beforeAll(async () => {
  postgres = await createReplicatedPostgres()
  database = await openBillingDatabase({ url: postgres.url('postgres') })
})
afterAll(async () => {
  await database.close()
  await postgres.stop()
})

test('a promoted standby has every answered change, and the first call that finds the former primary read-only moves on', async () => {
  const { money, servicePool, operator } = database
  const { accountId, keyId } = await database.createAccount(10_000n)
  const [held, next] = [reserveCall(keyId), reserveCall(keyId)]
  expect(await money.reserve([held])).toMatchObject([{ status: 'granted' }])
  const watch = watchReadiness({
    pool: servicePool,
    pooled: null,
    writes: { problem: () => null },
    everyMs: 50,
    log,
  })
  onTestFinished(() => watch.stop())
  const server = async () => {
    const { rows } = await servicePool.query<{ port: number }>('select inet_server_port() as port')
    return rows[0]?.port
  }
  const former = await server()

  await postgres.promote('read-only')
  expect(await money.settle([settlement(held.reservationId)])).toMatchObject([{ result: 'charged' }])
  await operator.topUp(accountId, { nano: 100n, idempotencyKey: 'second' })
  expect(await money.reserve([next])).toMatchObject([{ status: 'granted' }])
  expect(await server()).not.toBe(former)
  await expect.poll(watch.readiness).toEqual({ ready: true })

  await postgres.replaceFormer()
  expect(await money.settle([settlement(next.reservationId)])).toMatchObject([{ result: 'charged' }])
  expect(await database.balance(accountId)).toEqual({ posted: 8_700n, held: 0n, openHolds: 0 })
  await database.expectReconciled()
})
