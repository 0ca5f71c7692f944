import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { migrate } from '#apps/billing/database/migrate.ts'
import { uuidV7 } from '../../../support/uuid-v7.ts'
import { scratchFolder } from '../../../support/run-folder.ts'
import {
  log,
  only,
  openBillingDatabase,
  openEmptyDatabase,
  reserveCall,
  settlement,
  START_MS,
} from '../support/billing-database.ts'

/** The functions that the earlier tables need. */
const EARLIER_FUNCTIONS = ['next_version.sql', 'ledger_line.sql', 'chain_ledger.sql']

/** Indexes that did not exist then. Most of their tables did not exist either. */
const LATER_INDEXES =
  /\b(usage_by_settling|usage_not_completed|usage_hours_\w+|settlement_alarms_by_time|ledger_write_offs_by_time|admin_sessions_by_age|management_keys_\w+|key_requests_by_age)\b/

test('a database from before there were months keeps its holds, entries, numbers and seals', async () => {
  const empty = await openEmptyDatabase()
  try {
    const { pool } = empty
    await migrate(pool, log, { folder: await copyEarlierSchema() })
    const [account, key] = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b']
    const [open, done] = [uuidV7(START_MS), uuidV7(START_MS + 1)]
    await pool.query(`
      insert into accounts (id, name, posted, held, created_at) values ('${account}', 'a', 9300, 700, '2029-12-31');
      insert into api_keys (id, account_id, sha256, prefix, last4, created_at, version)
      values ('${key}', '${account}', sha256('k'), 'p', 'last', '2029-12-31', 0);
      insert into models (id, kind, created_s, owned_by, context_window, max_output, tools, reasoning, default_effort, enabled)
      values ('chat', 'chat', 0, 'test', 4096, 1000, true, false, 'off', true);
      insert into price_versions (model, effective_from, input_price, cached_input_price, output_price)
      values ('chat', '2029-12-31', 2000000, 1000000, 10000000);
      insert into topups values ('${open}', '${account}', 10000, 'r', 'first', '2029-12-31');
      insert into reservations (id, state, key_id, model, input_tokens, wanted_output, deadline, account_id,
        price_version, granted_output, amount, clamped, expires_at, created_at, closed_at)
      select id, state, '${key}', 'chat', 100, 50, '2030-01-01 00:10', '${account}', 1, 50, 700, false,
        '2030-01-01 00:11', '2030-01-01', case state when 'settled' then timestamptz '2030-01-01' end
      from (values ('${open}'::uuid, 'held'), ('${done}', 'settled')) v (id, state);
      insert into usage values ('${done}', '${account}', '${key}', 'chat', 1, 1, 'completed', 100, 0, 50, 700, 700,
        false, 'worker-1', '2030-01-01');
      insert into ledger (kind, ref, debit_account, credit_account, amount, posted_at) values
        ('topup', '${open}', '00000000-0000-0000-0000-000000000001', '${account}', 10000, '2029-12-31'),
        ('charge', '${done}', '${account}', '00000000-0000-0000-0000-000000000002', 700, '2030-01-01');
      insert into ledger_seals
      select '2029-12-31', 1, 1, 1, chain_ledger(sha256(''), 0, 1), '2029-12-31';
      insert into sealed_balances values ('${account}', 10000), ('00000000-0000-0000-0000-000000000001', -10000);
    `)

    const database = await openBillingDatabase({ url: empty.url })
    await database.expectReconciled()
    const settled = await database.money.settle([settlement(open), settlement(done)])
    expect(settled.map(({ result }) => result)).toEqual(['charged', 'replayed'])
    expect(await newestNumber()).toBe(3n)

    await pool.query("select prepare_months(at => '2030-01-02')")
    await pool.query("select seal_ledger(at => '2030-01-02')")
    const next = reserveCall(key, { reservationId: uuidV7(START_MS + 2) })
    await database.money.reserve([next])
    await database.money.settle([settlement(next.reservationId)])
    expect(await newestNumber()).toBe(203_001_000_000_000_001n)
    await database.expectReconciled()
    const { rows } = await pool.query(
      `select relname from pg_index join pg_class c on c.oid = indexrelid
       where not indisvalid or (c.relkind = 'i' and c.relispartition is false and indrelid in (
         select inhrelid from pg_inherits where inhparent in ('usage'::regclass, 'reservations'::regclass)))`,
    )
    expect(rows).toEqual([])
    await database.close()

    async function newestNumber(): Promise<bigint> {
      return only((await pool.query<{ seq: bigint }>('select max(seq) as seq from ledger')).rows).seq
    }
  } finally {
    await empty.close()
  }
})

/** Copies the schema files before the file that introduces the months. */
async function copyEarlierSchema(): Promise<URL> {
  const folder = scratchFolder('sql')
  await cp('apps/billing/sql', folder, { recursive: true })
  const remove = async (place: string, isLater: (name: string) => boolean) => {
    const names = (await readdir(join(folder, place))).filter(isLater)
    expect(names.length).toBeGreaterThan(0)
    for (const name of names) await rm(join(folder, place, name))
  }
  await remove('tables', (name) => name >= '0009')
  await remove('functions', (name) => !EARLIER_FUNCTIONS.includes(name))
  const indexes = await readFile(join(folder, 'indexes.sql'), 'utf8')
  const earlier = indexes.split(';').filter((statement) => !LATER_INDEXES.test(statement))
  expect(earlier.length).toBeLessThan(indexes.split(';').length)
  await writeFile(join(folder, 'indexes.sql'), earlier.join(';'))
  await writeFile(join(folder, 'version.txt'), '4\n')
  await writeFile(join(folder, 'roles.sql'), '')
  return pathToFileURL(`${folder}/`)
}
