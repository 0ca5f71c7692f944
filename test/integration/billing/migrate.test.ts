import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Pool } from 'pg'
import { migrate } from '#apps/billing/database/migrate.ts'
import { openPool } from '#apps/billing/database/open-pool.ts'
import { createDatabase } from '../../support/postgres.ts'
import { log } from './billing-database.ts'

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

test('a database that cannot be reached is a clear error after the wait, without its password', async () => {
  const url = 'postgres://somebody:secret@127.0.0.1:1/none'
  await expect(openPool({ url, log, waitMs: 0 })).rejects.toThrow(
    'PostgreSQL at postgres://somebody@127.0.0.1:1/none did not answer within 0 ms',
  )
})
