import { sql } from 'kysely'
import { expect, onTestFinished } from 'vitest'
import { toKysely } from '#apps/billing/database/to-kysely.ts'
import { openPool, SERVICE_ROLE } from '#apps/billing/database/open-pool.ts'
import { runTransaction } from '#apps/billing/database/run-transaction.ts'
import { watchReadiness } from '#apps/billing/database/watch-readiness.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { log, reserveCall, settlement, type BillingDatabase } from '../support/billing-database.ts'
import { openManagedAccount } from '../support/managed-account.ts'
import { test } from '../support/own-database-test.ts'

// The database becomes read-only, as a managed database whose disk is full, or a name that leads to a standby. Sessions
// that begin meanwhile may not write, even after the database accepts changes again.

const WAIT = { interval: 50 }

async function setReadOnly({ pool, url }: BillingDatabase, isReadOnly: boolean): Promise<void> {
  const name = new URL(url).pathname.slice(1)
  // This session itself may be read-only, so it first allows itself to write.
  await pool.query(
    `set default_transaction_read_only = off; begin read write; ${change(name, isReadOnly)}; commit`,
  )
}

const change = (name: string, isReadOnly: boolean) =>
  isReadOnly
    ? `alter database ${name} set default_transaction_read_only = on`
    : `alter database ${name} reset default_transaction_read_only`

/** Ends the sessions of the service, as a restart or a failover does. */
async function endSessions({ pool }: BillingDatabase): Promise<void> {
  await pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and application_name = 'millrace-billing'`,
  )
}

test('a read-only database answers 503 to changes, and takes the first one once it accepts changes again', async ({
  database,
}) => {
  const { operator, money, servicePool } = database
  const { accountId, keyId } = await database.createAccount(10_000n)
  const topUp = async () => await operator.topUp(accountId, { nano: 100n, idempotencyKey: 'second' })
  const held = reserveCall(keyId)
  await money.reserve([held])

  await setReadOnly(database, true)
  await endSessions(database)
  // Opens several sessions, all of which may only read.
  await expect
    .poll(async () => await Promise.all([1, 2, 3].map(() => readOnly())), WAIT)
    .toEqual(['on', 'on', 'on'])
  await expect(topUp()).rejects.toThrow(/^refused with 503: .*"unavailable"/)
  await expect(money.reserve([reserveCall(keyId)])).rejects.toMatchObject({ code: '25006' })
  await expect(money.settle([settlement(held.reservationId)])).rejects.toMatchObject({ code: '25006' })
  expect(await operator.ask('GET', `/accounts/${accountId}`)).toMatchObject({ status: 200 })
  await Promise.all([1, 2, 3].map(() => readOnly()))

  await setReadOnly(database, false)
  await topUp()
  expect(await money.settle([settlement(held.reservationId)])).toMatchObject([{ result: 'charged' }])
  expect(await database.balance(accountId)).toEqual({ posted: 9_400n, held: 0n, openHolds: 0 })
  await database.expectReconciled()

  async function readOnly() {
    const { rows } = await servicePool.query<{ now: string }>(
      "select current_setting('transaction_read_only') as now",
    )
    return rows[0]?.now
  }
})

test('the account of a management key reads from a read-only database, and changes its keys again afterwards', async () => {
  const managed = await openManagedAccount()
  onTestFinished(() => managed.close())
  const { database, manager, ask, create } = managed
  await setReadOnly(database, true)
  await endSessions(database)
  await expect.poll(async () => await managed.lookUp(manager.secret).catch(() => null), WAIT).not.toBeNull()
  expect((await ask('readCredits')).data).toMatchObject({ nano: { available: '10000' } })
  await expect(create({ name: 'laptop' })).rejects.toBeInstanceOf(BillingUnavailable)
  await setReadOnly(database, false)
  expect((await create({ name: 'laptop' })).data).toMatchObject({ name: 'laptop' })
})

test('a session that was refused a change serves no further transaction', async ({ database }) => {
  const db = toKysely(database.servicePool)
  const readOnce = async () => {
    const { rows } = await database.servicePool.query<{ pid: number }>('select pg_backend_pid() as pid')
    return rows[0]?.pid
  }
  const before = await readOnce()
  const refused = runTransaction(db, async (transaction) => {
    await sql`set transaction read only`.execute(transaction)
    await transaction.updateTable('accounts').set({ name: 'x' }).execute()
  })
  await expect(refused).rejects.toMatchObject({ code: '25006' })
  expect(await readOnce()).not.toBe(before)
})

test('billing is not ready while its sessions may not write, and ready as soon as they may', async ({
  database,
}) => {
  const watch = watchReadiness({
    pool: database.servicePool,
    pooled: null,
    writes: { problem: () => null },
    everyMs: 50,
    log,
  })
  onTestFinished(() => watch.stop())
  await setReadOnly(database, true)
  await endSessions(database)
  await expect.poll(watch.readiness, WAIT).toEqual({ ready: false, reason: 'the database is read-only' })
  const waiting: string[] = []
  const opening = openPool({
    url: database.url,
    role: SERVICE_ROLE,
    log,
    waitMs: 60_000,
    onWait: (reason) => waiting.push(reason),
  })
  await expect.poll(() => waiting, WAIT).toContain('the database is read-only')
  await setReadOnly(database, false)
  await expect.poll(watch.readiness, WAIT).toEqual({ ready: true })
  await (await opening).end()
})
