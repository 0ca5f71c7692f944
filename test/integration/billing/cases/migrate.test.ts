import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Pool } from 'pg'
import { migrate } from '#apps/billing/database/migrate.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { scratchFolder } from '../../../support/run-folder.ts'
import { log, openEmptyDatabase, type OpenDatabase } from '../support/billing-database.ts'

const TABLES = 'apps/billing/sql/tables'

const INDEX = 'create index concurrently if not exists'

let database: OpenDatabase
let pool: Pool

beforeAll(async () => {
  database = await openEmptyDatabase()
  pool = database.pool
})
afterAll(() => database.close())

test('replicas that start together migrate once, and a later start finds nothing to do', async () => {
  const { lines, log } = recordLog()
  await Promise.all([migrate(pool, log), migrate(pool, log), migrate(pool, log)])
  await migrate(pool, log)
  const parts = [...(await readdir(TABLES)), 'indexes.sql', 'functions and roles']
  expect(lines.filter(({ msg }) => msg === 'migrated').map(({ migration }) => migration)).toEqual(parts)
})

test('a file of tables/ that changed after it ran stops the start', async () => {
  await pool.query("update schema_parts set sha256 = 'other' where name = '0004-ledger.sql'")
  await expect(migrate(pool, log)).rejects.toThrow('0004-ledger.sql has changed since it was run')
})

test('a migration that waits for a lock lets writers pass repeatedly, and fails with its name after the limit', async () => {
  await inScratch(async ({ scratch, write, run }) => {
    await write('tables/0001-table.sql', 'create table things (id integer)')
    await run()
    await write('tables/0002-column.sql', 'alter table things add column name text')
    const reader = await scratch.connect()
    await reader.query('begin')
    await reader.query('select from things')

    await expect(run({ lockLimitMs: 0 })).rejects.toThrow('0002-column.sql found its tables locked')
    const { lines, log: noting } = recordLog()
    const migrating = run({ log: noting })
    const gaveWay = () => lines.filter(({ msg }) => msg === 'migration gave way, trying again').length
    // A writer that was blocked would wait for the reader, and the reader continues until all writers have passed.
    for (let id = 1; gaveWay() < 2; id += 1) await scratch.query('insert into things (id) values ($1)', [id])
    await scratch.query('insert into things (id) values (0)')
    await reader.query('commit')
    reader.release()
    await migrating
    await scratch.query('select name from things')
  })
})

test('an index is built while the table is written to, and one that was cut short is built again', async () => {
  await inScratch(async ({ scratch, write, run }) => {
    await write('tables/0001-table.sql', 'create table things (id integer)')
    await run()
    await write('indexes.sql', `-- Two.\n${INDEX} a on things (id);\n${INDEX} b on\n  things (id);\n`)
    await scratch.query('create index a on things (id)')
    await scratch.query("update pg_index set indisvalid = false where indexrelid = 'a'::regclass")

    // One writer is active when the index build begins, so the build waits for it. Another begins during the build.
    const early = await scratch.connect()
    await early.query('begin')
    await early.query('insert into things values (1)')
    const migrating = run()
    await expect
      .poll(async () => {
        const { rows } = await scratch.query(
          "select from pg_locks where locktype = 'virtualxid' and not granted",
        )
        return rows.length
      })
      .toBe(1)
    await scratch.query('insert into things values (2)')
    await early.query('commit')
    early.release()
    await migrating
    const { rows } = await scratch.query(
      "select relname, indisvalid from pg_index join pg_class on oid = indexrelid where indrelid = 'things'::regclass order by 1",
    )
    expect(rows).toEqual([
      { relname: 'a', indisvalid: true },
      { relname: 'b', indisvalid: true },
    ])
  })
})

test('indexes.sql may only build indexes concurrently', async () => {
  await inScratch(async ({ write, run }) => {
    await write('indexes.sql', 'create table t (id integer); create index concurrently i on t (id);')
    await expect(run()).rejects.toThrow('indexes.sql may only have')
  })
})

test('a file that fails leaves nothing behind, and the files before it stay', async () => {
  await inScratch(async ({ scratch, write, run }) => {
    await write('tables/0001-table.sql', 'create table things (id integer)')
    await write('tables/0002-wrong.sql', 'create table others (id integer); select nonsense')
    await expect(run()).rejects.toThrow('migration 0002-wrong.sql failed')
    await expect(scratch.query('select from others')).rejects.toThrow('does not exist')
    await write('tables/0002-wrong.sql', 'create table others (id integer)')
    await run()
    await scratch.query('select from things, others')
  })
})

test('functions may call each other in any order, and all of them change together or not at all', async () => {
  await inScratch(async ({ scratch, write, run }) => {
    const read = async () => (await scratch.query<{ a: number }>('select a()')).rows
    await write('functions/a.sql', toFunction('a', 'select b()'))
    await write('functions/b.sql', toFunction('b', 'select 1'))
    await run()
    expect(await read()).toEqual([{ a: 1 }])

    await write('functions/a.sql', toFunction('a', 'select b() + 1'))
    await write('functions/b.sql', toFunction('b', 'select nonsense'))
    await expect(run()).rejects.toThrow('migration b.sql failed')
    expect(await read()).toEqual([{ a: 1 }])

    await write('functions/b.sql', toFunction('b', 'select 2'))
    await write('roles.sql', 'grant execute on function nonsense to public')
    await expect(run()).rejects.toThrow('migration roles.sql failed')
    expect(await read()).toEqual([{ a: 1 }])

    await write('roles.sql', '')
    await run()
    expect(await read()).toEqual([{ a: 3 }])
  })
})

test('functions find the indexes of their version', async () => {
  await inScratch(async ({ scratch, write, run }) => {
    await write('tables/0001-table.sql', 'create table things (id integer)')
    await write('indexes.sql', `create unique index concurrently if not exists a on things (id);`)
    await write(
      'functions/add.sql',
      toFunction('add', 'insert into things values (7) on conflict (id) do nothing returning id'),
    )
    await run()
    expect((await scratch.query('select add()')).rows).toEqual([{ add: 7 }])
  })
})

test('an older version that starts after a newer one has migrated leaves its functions, roles and indexes alone', async () => {
  await inScratch(async ({ scratch, write, run }) => {
    const older = async () => {
      await write('version.txt', '1\n')
      await write('functions/a.sql', toFunction('a', 'select 1'))
      await write('indexes.sql', `${INDEX} older on things (id);`)
      await write('roles.sql', 'revoke execute on function a from public')
    }
    await write('tables/0001-table.sql', 'create table things (id integer)')
    await older()
    await run()

    await write('version.txt', '2\n')
    await write('functions/a.sql', toFunction('a', 'select 2'))
    await write('indexes.sql', '')
    await write('roles.sql', 'grant execute on function a to public')
    await run()
    await scratch.query('drop index older')

    await older()
    await run()
    const { rows } = await scratch.query(
      "select a(), to_regclass('older') as index, (select proacl is null from pg_proc where proname = 'a') as is_public",
    )
    expect(rows).toEqual([{ a: 2, index: null, is_public: false }])
  })
})

test('no file of tables/ builds an index: it would stop the writers of its table', async () => {
  const names = await readdir(TABLES)
  expect(names.length).toBeGreaterThan(5)
  const texts = await Promise.all(names.map((name) => readFile(join(TABLES, name), 'utf8')))
  expect(names.filter((_, index) => /^\s*create (unique )?index/im.test(texts[index] ?? ''))).toEqual([])
})

const toFunction = (name: string, body: string) =>
  `create or replace function ${name}() returns integer language sql as '${body}'`

function recordLog() {
  const lines: { msg?: string; migration?: string }[] = []
  return { lines, log: pino({}, { write: (line) => void lines.push(JSON.parse(line)) }) }
}

type Scratch = {
  scratch: Pool
  write(name: string, sql: string): Promise<void>
  run(options?: { lockLimitMs?: number; log?: Logger }): Promise<void>
}

/** Runs `work` with a database and a schema folder that only this test uses. */
async function inScratch(work: (scratch: Scratch) => Promise<void>): Promise<void> {
  const folder = scratchFolder('sql')
  const write = (name: string, sql: string) => writeFile(join(folder, name), sql)
  await mkdir(join(folder, 'tables'))
  await mkdir(join(folder, 'functions'))
  await Promise.all([write('version.txt', '1\n'), write('roles.sql', ''), write('indexes.sql', '')])
  const { pool, close } = await openEmptyDatabase()
  try {
    await work({
      scratch: pool,
      write,
      run: ({ log: noting = log, ...options } = {}) =>
        migrate(pool, noting, { ...options, folder: pathToFileURL(`${folder}/`) }),
    })
  } finally {
    await close()
  }
}
