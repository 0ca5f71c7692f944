import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Pool } from 'pg'
import { migrate } from '#apps/billing/database/migrate.ts'
import { openPool } from '#apps/billing/database/open-pool.ts'
import { createDatabase } from '../../../support/postgres.ts'
import { scratchFolder } from '../../../support/run-folder.ts'
import { log } from '../support/billing-database.ts'

let database: Awaited<ReturnType<typeof createDatabase>>
let pool: Pool

beforeAll(async () => {
  database = await createDatabase()
  pool = await openPool({ url: database.url, log, waitMs: 5_000 })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

test('replicas that start together migrate once, and a later start finds nothing to do', async () => {
  await Promise.all([migrate(pool, log), migrate(pool, log), migrate(pool, log)])
  await migrate(pool, log)
  const { rows } = await pool.query<{ versions: number; names: number }>(
    'select count(*)::int as versions, count(distinct name)::int as names from schema_migrations',
  )
  const files = (await readdir('apps/billing/sql')).length
  expect(rows).toEqual([{ versions: files, names: files }])
})

test('a migration that changed after it ran stops the start', async () => {
  await pool.query("update schema_migrations set sha256 = 'other' where version = 7")
  await expect(migrate(pool, log)).rejects.toThrow('0007-reserve.sql has changed since it was run')
})

test('embedding models of before, whose vectors have no known length, wait disabled for the catalog file', async () => {
  const old = await createDatabase()
  const oldPool = await openPool({ url: old.url, log, waitMs: 5_000 })
  try {
    await oldPool.query(
      'create table schema_migrations (version integer primary key, name text not null, sha256 text not null)',
    )
    const before = (await readdir('apps/billing/sql')).toSorted().slice(0, 13)
    for (const name of before) {
      const sql = await readFile(`apps/billing/sql/${name}`, 'utf8')
      await oldPool.query(sql)
      const sha256 = createHash('sha256').update(sql).digest('hex')
      await oldPool.query('insert into schema_migrations values ($1, $2, $3)', [
        Number(name.slice(0, 4)),
        name,
        sha256,
      ])
    }
    await oldPool.query(
      `insert into models select id, kind, 0, 'test', 10, 0, false, false, 'off', true
       from (values ('chat', 'chat'), ('embed', 'embedding')) as m (id, kind)`,
    )
    await migrate(oldPool, log)
    const { rows } = await oldPool.query('select id, enabled, embedding_dimensions from models order by id')
    expect(rows).toEqual([
      { id: 'chat', enabled: true, embedding_dimensions: null },
      { id: 'embed', enabled: false, embedding_dimensions: 1 },
    ])
  } finally {
    await oldPool.end()
    await old.drop()
  }
})

test('a migration that waits for a lock lets writers pass again and again, and says so when it was too long', async () => {
  await inScratch(async ({ scratch, write, run }) => {
    await write('0001-table.sql', 'create table things (id integer)')
    await run()
    await write('0002-column.sql', 'alter table things add column name text')
    const reader = await scratch.connect()
    await reader.query('begin')
    await reader.query('select from things')

    await expect(run({ lockLimitMs: 0 })).rejects.toThrow('0002-column.sql found its tables locked')
    const migrating = run()
    const startedMs = performance.now()
    for (let id = 1; performance.now() - startedMs < 2_000; id += 1) {
      const sentMs = performance.now()
      await scratch.query('insert into things (id) values ($1)', [id])
      expect(performance.now() - sentMs).toBeLessThan(1_500)
    }
    await reader.query('commit')
    reader.release()
    await migrating
    await scratch.query('select name from things')
  })
})

test('an index is built while the table is written to, and one that was cut short is built again', async () => {
  await inScratch(async ({ scratch, write, run }) => {
    await write('0001-table.sql', 'create table things (id integer)')
    await run()
    const index = 'create index concurrently if not exists'
    await write('0002-indexes.sql', `-- Two.\n${index} a on things (id);\n${index} b on\n  things (id);\n`)
    await scratch.query('create index a on things (id)')
    await scratch.query("update pg_index set indisvalid = false where indexrelid = 'a'::regclass")

    // A writer under way when the build begins, which waits for it, and one that begins meanwhile.
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

test('a file that builds indexes concurrently may do nothing else', async () => {
  await inScratch(async ({ write, run }) => {
    await write('0001-mixed.sql', 'create table t (id integer); create index concurrently i on t (id);')
    await expect(run()).rejects.toThrow('0001-mixed.sql failed')
  })
})

test('what fails leaves nothing of its file behind, and the files before it stay', async () => {
  await inScratch(async ({ scratch, write, run }) => {
    await write('0001-table.sql', 'create table things (id integer)')
    await write('0002-wrong.sql', 'create table others (id integer); select nonsense')
    await expect(run()).rejects.toThrow('migration 0002-wrong.sql failed')
    await expect(scratch.query('select from others')).rejects.toThrow('does not exist')
    await write('0002-wrong.sql', 'create table others (id integer)')
    await run()
    await scratch.query('select from things, others')
  })
})

test('no migration since the first release stops writers of a table of before while it builds an index', async () => {
  const names = (await readdir('apps/billing/sql')).filter((name) => name >= '0015')
  expect(names.length).toBeGreaterThan(10)
  for (const name of names) {
    const sql = await readFile(`apps/billing/sql/${name}`, 'utf8')
    const own = [...sql.matchAll(/^create table (\w+)/gm)].map(([, table]) => table)
    for (const [, table] of sql.matchAll(/^create (?:unique )?index \w+ on (\w+)/gm)) {
      expect(own, `${name}: index on ${table}`).toContain(table)
    }
  }
})

test('a database that cannot be reached is a clear error after the wait, without its password', async () => {
  const url = 'postgres://somebody:secret@127.0.0.1:1/none'
  await expect(openPool({ url, log, waitMs: 0 })).rejects.toThrow(
    'PostgreSQL at postgres://somebody@127.0.0.1:1/none did not answer within 0 ms',
  )
})

type Scratch = {
  scratch: Pool
  write(name: string, sql: string): Promise<void>
  run(options?: { lockLimitMs?: number }): Promise<void>
}

/** A database and a folder of migrations of the test's own. */
async function inScratch(work: (scratch: Scratch) => Promise<void>): Promise<void> {
  const folder = scratchFolder('sql')
  const { url, drop } = await createDatabase()
  const scratch = await openPool({ url, log, waitMs: 5_000 })
  try {
    await work({
      scratch,
      write: (name, sql) => writeFile(join(folder, name), sql),
      run: (options) => migrate(scratch, log, { ...options, folder: pathToFileURL(`${folder}/`) }),
    })
  } finally {
    await scratch.end()
    await drop()
  }
}
