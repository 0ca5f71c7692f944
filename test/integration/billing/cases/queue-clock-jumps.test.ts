import { Registry } from '@prometheus-io/client'
import type { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createMetrics, type BillingMetrics } from '#apps/billing/metrics.ts'
import { createSettlementStreams } from '#apps/billing/settlements/settlement-streams.ts'
import { sweep, type Sweeper } from '#apps/billing/settlements/sweep.ts'
import { createRedis, type TestRedis } from '../../../support/redis.ts'
import {
  HOLD_GRACE_MS,
  log,
  openBillingDatabase,
  reserveCall,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { connect } from '../support/settlement-replica.ts'

const HOUR_MS = 3_600_000
/** A hold whose deadline was so long ago is past its grace period and the 30 s after it. */
const LONG_AGO_MS = 2 * HOUR_MS

let server: TestRedis
let redis: Redis
let database: BillingDatabase
let sweepers: Sweeper[]
/** The shift of the server's clock since the beginning of the test. */
let aheadMs: number
let metrics: BillingMetrics
/** The number of rounds in which a sweeper has looked for overdue holds. */
let begun: number

beforeAll(async () => {
  server = await createRedis()
  redis = connect(server.url)
})
beforeEach(async () => {
  await redis.flushall()
  database = await openBillingDatabase()
  sweepers = []
  aheadMs = 0
  begun = 0
  metrics = createMetrics(new Registry(), () => 0)
})
afterEach(async () => {
  await Promise.all(sweepers.map((sweeper) => sweeper.stop()))
  await database.close()
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

const redisMs = () => Date.now() + aheadMs

/** Starts a sweeper that gets shifted times: Redis' clock cannot be set without setting the machine's. */
async function startSweeper(): Promise<void> {
  const streams = createSettlementStreams({ redis, consumer: 'replica-1' })
  await streams.readNew(['chat'], 1)
  const shifted = {
    ...streams,
    async observe(model: string) {
      const observation = await streams.observe(model)
      return { ...observation, timeMs: observation.timeMs + aheadMs }
    },
  }
  sweepers.push(
    sweep({
      streams: shifted,
      money: {
        ...database.money,
        async overdueModels(untilMs) {
          begun += 1
          return await database.money.overdueModels(untilMs)
        },
      },
      models: () => ['chat'],
      onStuck: () => {},
      everyMs: 10,
      idleEveryMs: 10,
      metrics,
      log,
    }),
  )
}

async function hold(endsInMs: number): Promise<string> {
  const { keyId } = await database.createAccount(10_000n)
  const call = reserveCall(keyId, { deadlineMs: redisMs() + endsInMs - HOLD_GRACE_MS })
  const [answer] = await database.money.reserve([call])
  expect(answer).toMatchObject({ status: 'granted' })
  return call.reservationId
}

async function stateOf(id: string): Promise<string> {
  const { rows } = await database.pool.query<{ state: string }>(
    'select state from reservations where id = $1',
    [id],
  )
  return rows[0]?.state ?? ''
}

type Watermark = { watermark: Date | null; frozen_until: Date | null }

async function readWatermark(): Promise<Watermark> {
  const { rows } = await database.pool.query<Watermark>('select * from settlement_watermarks')
  const [row] = rows
  if (row === undefined) throw new Error('there is no watermark')
  return row
}

async function watermarkMs(): Promise<number> {
  return (await readWatermark()).watermark?.getTime() ?? Number.NaN
}

async function jumps(): Promise<number> {
  return (await metrics.clockJumps.get()).values[0]?.value ?? 0
}

/** Waits for two complete rounds that begin after this call. */
async function rounds(): Promise<void> {
  const before = begun
  await expect.poll(() => begun).toBeGreaterThan(before + 2)
}

async function isFrozen(): Promise<boolean> {
  const { frozen_until: until } = await readWatermark()
  return until !== null && until.getTime() > redisMs()
}

test.each([HOUR_MS, 24 * HOUR_MS])(
  'a clock that goes on by %d ms expires no hold that is in use, and then a lost one still expires',
  async (byMs) => {
    const inUse = await hold(600_000)
    await startSweeper()
    const lost = await hold(-LONG_AGO_MS)
    await expect.poll(() => stateOf(lost)).toBe('expired')

    aheadMs += byMs
    await expect.poll(jumps).toBe(1)
    await expect.poll(isFrozen).toBe(true)
    const { frozen_until: until } = await readWatermark()
    // Expiry is frozen until the hold in use would have ended by the earlier clock, plus a minute.
    expect(until?.getTime()).toBeGreaterThan(redisMs() + 600_000)
    expect(until?.getTime()).toBeLessThan(redisMs() + 700_000)
    await rounds()
    expect(await stateOf(inUse)).toBe('held')

    // The test pretends that this time has passed.
    await database.pool.query("update settlement_watermarks set frozen_until = observed_at - interval '1 s'")
    await expect.poll(() => stateOf(inUse)).toBe('expired')
  },
)

test.each([-HOUR_MS, -60_000])(
  'a clock that goes back by %d ms expires no hold that begins then',
  async (byMs) => {
    await startSweeper()
    const lost = await hold(-LONG_AGO_MS)
    await expect.poll(() => stateOf(lost)).toBe('expired')
    await expect.poll(watermarkMs).toBeGreaterThan(redisMs() - 60_000)

    aheadMs += byMs
    await expect.poll(jumps).toBe(1)
    expect((await readWatermark()).watermark).toBeNull()
    // This hold is overdue by any clock, so the sweep expires it as soon as it may.
    await hold(-LONG_AGO_MS)
    const fresh = await hold(600_000)
    await rounds()
    expect(await stateOf(fresh)).toBe('held')

    // The clock is corrected. This is a jump too, and freezes expiry again.
    aheadMs -= byMs
    await expect.poll(jumps).toBe(2)
    await rounds()
    expect(await stateOf(fresh)).toBe('held')
  },
)

test('a replica that starts after the clock went back knows it from the database', async () => {
  await startSweeper()
  const lost = await hold(-LONG_AGO_MS)
  await expect.poll(() => stateOf(lost)).toBe('expired')
  await Promise.all(sweepers.splice(0).map((sweeper) => sweeper.stop()))

  aheadMs -= HOUR_MS
  await hold(-LONG_AGO_MS)
  const fresh = await hold(600_000)
  await startSweeper()
  await expect.poll(jumps).toBe(1)
  await rounds()
  expect(await stateOf(fresh)).toBe('held')
})
