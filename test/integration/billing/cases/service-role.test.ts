import type { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { loadCatalog } from '#apps/billing/catalog/load-catalog.ts'
import { migrate } from '#apps/billing/database/migrate.ts'
import { inTransaction, openPool, SERVICE_ROLE } from '#apps/billing/database/open-pool.ts'
import { TABLE_RIGHTS } from '#apps/billing/database/service-rights.ts'
import { createPostgres } from '../../../support/postgres.ts'
import {
  CHAT,
  log,
  openBillingDatabase,
  reserveCall,
  settlement,
  START_MS,
  type BillingDatabase,
} from '../support/billing-database.ts'

/** Tables that the service reads and writes only through the tables whose parts they are. */
const PARTITIONS = {
  ledger_first: '',
  request_timings_default: '',
  reservations_default: '',
  usage_default: '',
}

const APPEND_ONLY = ['ledger', 'usage', 'price_versions', 'admin_audit', 'ledger_seals', 'ledger_archives']

const denied = { code: '42501' }

describe('the service', () => {
  let database: BillingDatabase
  let service: Pool

  beforeAll(async () => {
    database = await openBillingDatabase()
    service = database.servicePool
  })
  afterAll(async () => await database.close())

  /** Runs a statement in a transaction that is rolled back. */
  const attempt = (statement: string) =>
    inTransaction(service, async (client) => {
      await client.query(statement)
      throw new Error('it was allowed')
    })

  test('has exactly the rights that it needs', async () => {
    const { rows } = await database.pool.query<{ name: string; privileges: string }>(
      `select c.relname as name, coalesce(string_agg(p, ' ' order by n) filter (
         where has_table_privilege($1, c.oid, p)), '') as privileges
       from pg_class c, unnest('{select,insert,update,delete,truncate,references,trigger}'::text[])
         with ordinality as u (p, n)
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
       group by c.relname`,
      [SERVICE_ROLE],
    )
    expect(Object.fromEntries(rows.map(({ name, privileges }) => [name, privileges]))).toEqual({
      ...TABLE_RIGHTS,
      ...PARTITIONS,
    })
  })

  test('owns nothing, cannot log in and has no privileges over roles', async () => {
    const { rows } = await database.pool.query(
      `select rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,
         (select count(*)::int from pg_class where relowner = r.oid)
           + (select count(*)::int from pg_proc where proowner = r.oid) as owned,
         (select count(*)::int from pg_auth_members where member = r.oid) as memberships
       from pg_roles r where rolname = $1`,
      [SERVICE_ROLE],
    )
    expect(rows).toEqual([
      {
        rolcanlogin: false,
        rolsuper: false,
        rolcreaterole: false,
        rolcreatedb: false,
        rolreplication: false,
        rolbypassrls: false,
        owned: 0,
        memberships: 0,
      },
    ])
  })

  test.each(APPEND_ONLY)('cannot change, delete or empty %s, nor switch its triggers off', async (table) => {
    const { rows } = await database.pool.query<{ column: string }>(
      `select attname as column from pg_attribute where attrelid = $1::regclass and attnum = 1`,
      [table],
    )
    const column = rows[0]?.column
    const statements = [
      `update ${table} set ${column} = default`,
      `delete from ${table}`,
      `truncate ${table}`,
      `alter table ${table} disable trigger all`,
      `create trigger quiet before insert on ${table} execute function refuse_change()`,
      `drop table ${table}`,
    ]
    for (const statement of statements) await expect(attempt(statement)).rejects.toMatchObject(denied)
  })

  test.each([
    'set session_replication_role = replica',
    'create table public.mine (id int)',
    `create function public.refuse_change() returns trigger language plpgsql as 'begin return new; end'`,
    'drop trigger ledger_append_only on ledger',
    'alter function seal_ledger security invoker',
    `insert into ledger_seals values ('2030-01-01', 1, 0, 0, sha256(''), now())`,
    'update sealed_balances set balance = 0',
    'delete from schema_parts',
    'delete from carried_entries',
    'drop table ledger_first',
    'alter table ledger detach partition ledger_first',
    `create role friend superuser`,
  ])('cannot: %s', async (statement) => {
    await expect(attempt(statement)).rejects.toMatchObject(denied)
  })

  test('seals the ledger by the one function for it, whatever its own search path finds first', async () => {
    const client = await service.connect()
    try {
      await client.query('create temporary table ledger_seals (like public.ledger_seals)')
      await client.query('set search_path = pg_temp, public')
      await client.query("select seal_ledger(at => '2030-01-02T00:00:00Z')")
      const { rows } = await client.query(
        `select (select count(*)::int from pg_temp.ledger_seals) as own, count(*)::int as real from public.ledger_seals`,
      )
      expect(rows).toEqual([{ own: 0, real: 1 }])
    } finally {
      client.release(true)
    }
  })

  test('cannot get back the rights of its login by a reset', async () => {
    const client = await service.connect()
    try {
      for (const statement of ['reset role', 'reset all', 'discard all']) {
        await client.query(statement)
        const { rows } = await client.query('select current_user::text as name')
        expect([statement, rows]).toEqual([statement, [{ name: SERVICE_ROLE }]])
      }
    } finally {
      client.release(true)
    }
  })

  test("keeps the options of the operator's URL, but for those of every session of billing", async () => {
    const url = new URL(database.url)
    url.searchParams.set('options', '-c work_mem=1234kB -c lock_timeout=1234ms')
    const pool = await openPool({ url: url.href, role: SERVICE_ROLE, log, waitMs: 0 })
    const { rows } = await pool.query(
      `select current_user::text as name, current_setting('work_mem') as memory,
         current_setting('lock_timeout') as lock_timeout`,
    )
    await pool.end()
    expect(rows).toEqual([{ name: SERVICE_ROLE, memory: '1234kB', lock_timeout: '0' }])
  })

  test('is refused by a certificate file that cannot be read, at once and by its name', async () => {
    const url = new URL(database.url)
    url.searchParams.set('sslmode', 'verify-full')
    url.searchParams.set('sslrootcert', '/nowhere/ca.pem')
    await expect(openPool({ url: url.href, log, waitMs: 60_000 })).rejects.toThrow('/nowhere/ca.pem')
  })
})

describe('on a server whose logins are no superusers', () => {
  test('databases that are migrated at the same time make the role once, and the service works in each', async () => {
    const { admin, urlOf } = await startServer()
    await admin.query(`create role owner login createrole password 'test'`)
    await admin.query('create database one owner owner')
    await admin.query('create database two owner owner')
    const databases = await Promise.all(
      ['one', 'two'].map((name) => openBillingDatabase({ url: urlOf('owner', name) })),
    )
    for (const database of databases) {
      expect(await spend(database)).toEqual({ posted: 9_300n, held: 0n, openHolds: 0 })
      await database.expectReconciled()
      await database.close()
    }
  })

  test('one login owns and migrates, another serves and can do neither', async () => {
    const { admin, urlOf } = await startServer()
    await admin.query(`create role owner login password 'test'`)
    await admin.query(`create role server login password 'test'`)
    await admin.query('create database billing owner owner')
    const owner = await openPool({ url: urlOf('owner', 'billing'), log, waitMs: 0 })
    onTestFinished(() => owner.end())

    await expect(migrate(owner, log)).rejects.toMatchObject({
      cause: {
        message: 'the role millrace_service is missing, and owner may not create it',
        hint: 'As an administrator: create role millrace_service; grant millrace_service to owner;',
      },
    })
    await admin.query('create role millrace_service')
    await admin.query('grant millrace_service to server')
    await migrate(owner, log)
    await expect(
      openPool({ url: urlOf('owner', 'billing'), role: SERVICE_ROLE, log, waitMs: 0 }),
    ).rejects.toMatchObject({ cause: { message: 'permission denied to set role "millrace_service"' } })

    const server = await openPool({ url: urlOf('server', 'billing'), role: SERVICE_ROLE, log, waitMs: 0 })
    onTestFinished(() => server.end())
    await loadCatalog({ pool: server, models: [CHAT], nowMs: START_MS, log })
    await expect(server.query('reset role; set role none; delete from ledger')).rejects.toMatchObject(denied)
    await expect(migrate(server, log)).rejects.toMatchObject(denied)
  })
})

/** Starts a separate server, because roles belong to the whole server. It stops with the test. */
async function startServer() {
  const postgres = await createPostgres()
  onTestFinished(() => postgres.stop())
  const admin = await openPool({ url: postgres.url('postgres'), log, waitMs: 5_000 })
  onTestFinished(() => admin.end())
  return {
    admin,
    urlOf(login: string, name: string) {
      const url = new URL(postgres.url(name))
      url.username = login
      url.password = 'test'
      return url.href
    },
  }
}

/** Does everything that moves money, once. Returns the balance after it. */
async function spend(database: BillingDatabase) {
  const { money, operator, servicePool } = database
  const { accountId, keyId } = await database.createAccount(10_000n)
  const [settled, released] = [reserveCall(keyId), reserveCall(keyId)]
  await money.reserve([settled, released])
  await money.release([released.reservationId])
  await money.settle([settlement(settled.reservationId)])
  await operator.revokeKey(keyId)
  await servicePool.query("select seal_ledger(at => '2030-01-01T12:00:00Z')")
  return await database.balance(accountId)
}
