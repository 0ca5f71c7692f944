import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import {
  awaitServiceRights,
  describeMissing,
  listMissingRights,
  TABLE_RIGHTS,
} from '#apps/billing/database/service-rights.ts'
import { watchReadiness } from '#apps/billing/database/watch-readiness.ts'
import { openBillingDatabase, type BillingDatabase } from '../support/billing-database.ts'

const POLL = { interval: 20 }

let database: BillingDatabase

beforeAll(async () => {
  database = await openBillingDatabase()
})
afterAll(() => database.close())

const RIGHTS = Object.entries(TABLE_RIGHTS).flatMap(([table, rights]) =>
  rights.split(' ').map((right) => `${right} on ${table}`),
)

/** Takes one right from the service's role for the time of `work`. */
async function without(right: string, work: () => Promise<void>): Promise<void> {
  await database.pool.query(`revoke ${right} from millrace_service`)
  try {
    await work()
  } finally {
    await database.pool.query(`grant ${right} to millrace_service`)
  }
}

function listen() {
  const lines: { msg: string; missing?: string[]; reason?: string }[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  return { log, lines }
}

test('each right of each table is named while the role lacks it', async () => {
  expect(await listMissingRights(database.servicePool)).toEqual([])
  for (const right of RIGHTS) {
    await without(right, async () => {
      expect(await listMissingRights(database.servicePool)).toEqual([right])
    })
  }
  expect(await listMissingRights(database.servicePool)).toEqual([])
})

test('the schema and each function are named while the role lacks them, whatever everyone else may do', async () => {
  const { rows } = await database.pool.query<{ name: string; signature: string }>(
    `select proname as name, oid::regprocedure::text as signature from pg_proc
     where pronamespace = 'public'::regnamespace and prorettype <> 'trigger'::regtype`,
  )
  await database.pool.query('revoke execute on all functions in schema public from public')
  expect(await listMissingRights(database.servicePool)).toEqual([])
  for (const { name, signature } of rows) {
    await without(`execute on function ${signature}`, async () => {
      expect(await listMissingRights(database.servicePool)).toEqual([`execute on function ${name}`])
    })
  }
  await database.pool.query('revoke usage on schema public from public')
  await without('usage on schema public', async () => {
    expect(await listMissingRights(database.servicePool)).toEqual(['usage on schema public'])
  })
  await database.pool.query('grant usage on schema public to public')
})

test('a start waits for the rights, names them, and goes on once they are granted', async () => {
  const { log, lines } = listen()
  const reasons: string[] = []
  await without('insert on ledger', async () => {
    const waiting = awaitServiceRights({
      pool: database.servicePool,
      log,
      onWait: (reason) => reasons.push(reason),
    })
    await expect.poll(() => reasons, POLL).toEqual(['the database role lacks insert on ledger'])
    await database.pool.query('grant insert on ledger to millrace_service')
    await waiting
  })
  expect(lines).toMatchObject([
    {
      missing: ['insert on ledger'],
      msg: 'the database role lacks rights: grant it those of apps/billing/sql/roles.sql',
    },
    { msg: 'the database role has all rights again' },
  ])
})

test('a right that is revoked while billing serves makes it unready, by its name, until it is granted', async () => {
  const { log, lines } = listen()
  const watch = watchReadiness({
    pool: database.servicePool,
    pooled: null,
    writes: { problem: () => null },
    everyMs: 20,
    log,
  })
  onTestFinished(() => watch.stop())
  await without('delete on admin_sessions', async () => {
    await expect
      .poll(watch.readiness, POLL)
      .toEqual({ ready: false, reason: 'the database role lacks delete on admin_sessions' })
  })
  await expect.poll(watch.readiness, POLL).toEqual({ ready: true })
  await expect
    .poll(() => lines.map(({ msg, reason }) => [msg, reason]), POLL)
    .toEqual([
      ['the database cannot be used', 'the database role lacks delete on admin_sessions'],
      ['the database can be used again', undefined],
    ])
})

test('an operator gets 503 and no more for a change that the role may not make', async () => {
  const { accountId } = await database.createAccount(0n)
  await without('insert on topups', async () => {
    await expect(
      database.operator.topUp(accountId, { nano: 100n, idempotencyKey: 'refused' }),
    ).rejects.toThrow(/^refused with 503: .*The service lacks a right on its database/)
  })
  await database.operator.topUp(accountId, { nano: 100n, idempotencyKey: 'granted' })
})

test('of many missing rights ten are named', () => {
  expect(describeMissing([])).toBeNull()
  expect(describeMissing(Array.from({ length: 12 }, (_, at) => `select on t${at}`))).toMatch(
    /^the database role lacks select on t0, .*, select on t9 and 2 other rights$/,
  )
})
