import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { watchReadiness } from '#apps/billing/database/watch-readiness.ts'
import { watchWrites } from '#apps/billing/database/watch-writes.ts'
import { createMoney } from '#apps/billing/money/money.ts'
import { createLogger } from '#libs/telemetry/logger.ts'
import { createPostgres, type TestPostgres } from '../../../support/postgres.ts'
import {
  FREE_TOKENS,
  HOLD_GRACE_MS,
  openBillingDatabase,
  receipts,
  reserveCall,
  START_MS,
  type BillingDatabase,
} from '../support/billing-database.ts'

// PostgreSQL answers, but cannot write: its disk is full, or its commits wait for a standby that is away.

const WAIT = { interval: 50, timeout: 20_000 }

let postgres: TestPostgres
let database: BillingDatabase

beforeAll(async () => {
  postgres = await createPostgres()
  database = await openBillingDatabase({ url: postgres.url('postgres') })
})
afterAll(async () => {
  await database.close()
  await postgres.stop()
})

function watch() {
  const lines: string[] = []
  let nowMs = 0
  const writes = watchWrites(() => nowMs)
  const log = createLogger('billing', 'info', { write: (line) => void lines.push(line) })
  const watched = watchReadiness({ pool: database.servicePool, pooled: null, writes, everyMs: 50, log })
  onTestFinished(() => watched.stop())
  const money = createMoney({
    pool: database.servicePool,
    receipts,
    holdGraceMs: HOLD_GRACE_MS,
    freeTokensPerHour: FREE_TOKENS,
    nowMs: () => START_MS,
    onCall: (_call, _durationMs, error) => writes.noteFailure(error),
  })
  const later = () => void (nowMs += 10_000)
  return {
    money,
    readiness: watched.readiness,
    later,
    logged: (text: string) => lines.filter((line) => line.includes(text)),
  }
}

test('billing is not ready after PostgreSQL found its disk full, and says so once in its log', async () => {
  const { keyId } = await database.createAccount(10_000n)
  const { money, readiness, later, logged } = watch()
  await database.pool.query(`create function full_disk() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
    create trigger full_disk before insert on reservations for each statement execute function full_disk()`)
  for (let n = 0; n < 3; n += 1)
    await expect(money.reserve([reserveCall(keyId)])).rejects.toMatchObject({ code: '53100' })
  const reason = 'the database cannot write: could not extend file: No space left on device'
  await expect.poll(readiness, WAIT).toEqual({ ready: false, reason })
  await database.pool.query('drop function full_disk cascade')
  later()
  await expect.poll(readiness, WAIT).toEqual({ ready: true })
  expect(await money.reserve([reserveCall(keyId)])).toMatchObject([{ status: 'granted' }])
  expect(logged(reason)).toHaveLength(1)
  expect(logged('the database can be used again')).toHaveLength(1)
})

test('billing is not ready while commits wait for a standby that is away, and ready as soon as they end', async () => {
  const { keyId } = await database.createAccount(1_000_000_000n)
  const { money, readiness, logged } = watch()
  const name = async (standby: string) => {
    await database.pool.query(`alter system set synchronous_standby_names = '${standby}'`)
    await database.pool.query('select pg_reload_conf()')
  }
  await name('away')
  onTestFinished(async () => await name(''))
  // PostgreSQL's checkpointer applies the setting a moment after the reload. Until then commits do not wait.
  const untilOneHangs = async () => {
    for (;;) {
      const call = reserveCall(keyId)
      let isAnswered = false
      const reserving = money.reserve([call]).then(
        () => (isAnswered = true),
        () => (isAnswered = true),
      )
      await expect.poll(() => isAnswered || !readiness().ready, WAIT).toBe(true)
      if (!readiness().ready) return { call, reserving }
    }
  }
  const { call, reserving } = await untilOneHangs()
  const reason = 'the database confirms no commit: it waits for its synchronous standby'
  await expect.poll(readiness, WAIT).toEqual({ ready: false, reason })
  await name('')
  await expect.poll(readiness, WAIT).toEqual({ ready: true })
  await reserving
  expect(await money.reserve([call])).toMatchObject([{ status: 'granted' }])
  expect(logged(reason)).toHaveLength(1)
})
