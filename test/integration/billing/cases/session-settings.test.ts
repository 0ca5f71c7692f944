import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { inTransaction, openPool, SERVICE_ROLE } from '#apps/billing/database/open-pool.ts'
import { SESSION_SETTINGS } from '#apps/billing/database/session-settings.ts'
import {
  createDatabase,
  HOSTILE_DEFAULTS,
  setHostileDefaults,
  type TestDatabase,
} from '#test/support/postgres.ts'
import {
  log,
  only,
  openBillingDatabase,
  reserveCall,
  settlement,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { createPooledLogin } from '../support/pooled-login.ts'

// Tests sessions on a database and with a login whose defaults are all different. `npm run test:servers` runs all of
// billing's tests on such databases.

let empty: TestDatabase
let database: BillingDatabase

beforeAll(async () => {
  empty = await createDatabase()
  await setHostileDefaults(`database ${nameOf(empty.url)}`)
  database = await openBillingDatabase({ url: empty.url })
})
afterAll(async () => {
  await database.close()
  await empty.drop()
})

test('money moves, and the books agree, whatever the defaults of the database are', async () => {
  const { accountId, keyId } = await database.createAccount(10_000n)
  const [first, second, third] = [reserveCall(keyId), reserveCall(keyId), reserveCall(keyId)]
  expect(await database.money.reserve([first])).toMatchObject([{ status: 'granted', amountNano: 700n }])
  expect(await database.money.reserve([first, second, third])).toMatchObject([
    { status: 'granted' },
    { status: 'granted' },
    { status: 'granted' },
  ])
  const ends = [first, second].map(({ reservationId }) => settlement(reservationId))
  expect(await database.money.settle(ends)).toMatchObject([{ result: 'charged' }, { result: 'charged' }])
  expect(await database.money.release([third.reservationId])).toEqual([true])
  expect(await database.balance(accountId)).toEqual({ posted: 8_600n, held: 0n, openHolds: 0 })
  const usage = await database.operator.ask('GET', '/usage?from=2030-01-01&to=2030-01-01&by=day,key')
  expect(usage.body).toMatchObject({
    data: [{ day: '2030-01-01', requests: 2, chargedNano: '1400' }],
  })
  await database.pool.query('select from seal_ledger(at => $1)', [new Date(database.clock.nowMs)])
  await database.expectReconciled()
})

test('each session has the settings of billing, and a commit waits for the disk', async () => {
  const names = [...Object.keys(SESSION_SETTINGS), 'synchronous_commit']
  const { rows } = await database.servicePool.query<{ settings: Record<string, string> }>(
    'select json_object_agg(name, current_setting(name)) as settings from unnest($1::text[]) as name',
    [names],
  )
  expect(only(rows).settings).toEqual({ ...SESSION_SETTINGS, synchronous_commit: 'on' })
  // The test is meaningful only for settings whose default is different here.
  expect(Object.keys(HOSTILE_DEFAULTS)).toEqual(expect.arrayContaining(names))
})

test('the defaults of the login do not count either', async () => {
  const login = await createPooledLogin(database.pool)
  const pool = await openOwn(login.url(database.url))
  onTestFinished(async () => {
    await pool.end()
    await login.drop()
  })
  const isolation = 'select current_setting($1) as isolation'
  const { rows } = await pool.query(isolation, ['transaction_isolation'])
  expect(rows).toEqual([{ isolation: 'read committed' }])

  async function openOwn(url: string) {
    await setHostileDefaults(`role ${login.name} in database ${nameOf(database.url)}`)
    return await openPool({ url, role: SERVICE_ROLE, log, waitMs: 5_000 })
  }
})

test('a limit on transactions, which newer servers have, does not end the transactions of billing', async () => {
  const { rows } = await database.servicePool.query<{ limit: string | null }>(
    "select current_setting('transaction_timeout', true) as limit",
  )
  expect([null, '0']).toContain(only(rows).limit)
})

test('a database whose triggers are off is refused', async () => {
  await database.pool.query(`alter database ${nameOf(database.url)} set session_replication_role = replica`)
  onTestFinished(async () => {
    await inTransaction(database.pool, async (client) => {
      await client.query(`alter database ${nameOf(database.url)} reset session_replication_role`)
    })
  })
  await expect(openPool({ url: database.url, role: SERVICE_ROLE, log, waitMs: 5_000 })).rejects.toThrow(
    'the connection has session_replication_role = replica, not origin',
  )
})

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1)
}
