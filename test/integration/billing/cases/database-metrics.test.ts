import { Registry } from '@prometheus-io/client'
import { expect, onTestFinished } from 'vitest'
import { createMoney } from '#apps/billing/money/money.ts'
import { createMetrics } from '#apps/billing/metrics.ts'
import { watchHolds } from '#apps/billing/money/watch-holds.ts'
import {
  FREE_TOKENS,
  HOLD_GRACE_MS,
  log,
  receipts,
  reserveCall,
  settlement,
} from '../support/billing-database.ts'
import { test } from '../support/file-database-test.ts'

const WAIT = { interval: 20 }

test('open holds and the age of the oldest are counted, and are absent while the database refuses', async ({
  database,
}) => {
  const { pool, servicePool, clock, money } = database
  const registry = new Registry()
  const metrics = createMetrics(registry, () => 0)
  const shown = async (name: string) =>
    new RegExp(`^millrace_billing_${name} (.*)$`, 'm').exec(await registry.metrics())?.[1]
  const holds = async () => [await shown('open_holds'), await shown('oldest_hold_seconds')]
  expect(await holds()).toEqual([undefined, undefined])

  const nowMs = () => clock.nowMs
  const stop = watchHolds({ pool: servicePool, everyMs: 20, nowMs, metrics, log })
  onTestFinished(() => stop())
  await expect.poll(holds, WAIT).toEqual(['0', '0'])

  const { keyId } = await database.createAccount(10_000n)
  const [first, second] = [reserveCall(keyId), reserveCall(keyId)]
  await money.reserve([first])
  clock.nowMs += 90_000
  await money.reserve([second])
  await expect.poll(holds, WAIT).toEqual(['2', '90'])
  await money.settle([settlement(first.reservationId)])
  await expect.poll(holds, WAIT).toEqual(['1', '0'])

  await pool.query('revoke select on reservations from millrace_service')
  await expect.poll(holds, WAIT).toEqual([undefined, undefined])
  await pool.query('grant select on reservations to millrace_service')
  await expect.poll(holds, WAIT).toEqual(['1', '0'])
})

test('each call of the database is timed, also one that fails', async ({ database }) => {
  const { servicePool: pool, clock } = database
  const { keyId } = await database.createAccount(10_000n)
  const calls: string[] = []
  const money = createMoney({
    pool,
    receipts,
    holdGraceMs: HOLD_GRACE_MS,
    freeTokensPerHour: FREE_TOKENS,
    nowMs: () => clock.nowMs,
    onCall(name, durationMs) {
      expect(durationMs).toBeGreaterThan(0)
      calls.push(name)
    },
  })
  const call = reserveCall(keyId)
  await money.reserve([call])
  await money.release([call.reservationId])
  await database.pool.query('alter function expire rename to expire_before')
  await expect(money.expire(10)).rejects.toThrow('expire')
  expect(calls).toEqual(['reserve', 'release', 'expire'])
})
