import { expect } from 'vitest'
import { checkSchema } from '#apps/billing/database/check-schema.ts'
import { test } from '../support/billing-test.ts'

test.beforeAll(async ({ fileDatabase }) => {
  await fileDatabase.pool.query('create table parts_as_migrated as select * from schema_parts')
})
test.afterEach(async ({ database }) => {
  await database.pool.query(
    `truncate schema_parts;
     insert into schema_parts select * from parts_as_migrated`,
  )
  await checkSchema(database.servicePool)
})

test('a database of this version is served with the rights of the service alone', async ({ database }) => {
  await expect(checkSchema(database.servicePool)).resolves.toBeUndefined()
})

test.for([
  [
    'a file of tables',
    "delete from schema_parts where name = '0008-operators.sql'",
    'lacks 0008-operators.sql of',
  ],
  [
    'older functions',
    "update schema_parts set sha256 = 'older', version = 1 where name = 'functions and roles'",
    'lacks functions and roles of',
  ],
] as const)('a database that lacks %s is refused', async ([, change, problem], { database }) => {
  await database.pool.query(change)
  await expect(checkSchema(database.servicePool)).rejects.toThrow(problem)
})

test('a database that a newer version has migrated is served: the older version goes on in an upgrade', async ({
  database,
}) => {
  await database.pool.query(
    "update schema_parts set sha256 = 'newer', version = 99 where name in ('functions and roles', 'indexes.sql')",
  )
  await database.pool.query("insert into schema_parts values ('9999-new.sql', 'new', 99, now())")
  await expect(checkSchema(database.servicePool)).resolves.toBeUndefined()
})

test('a file of tables that is another text in the database is refused', async ({ database }) => {
  await database.pool.query("update schema_parts set sha256 = 'other' where name = '0004-ledger.sql'")
  await expect(checkSchema(database.servicePool)).rejects.toThrow(
    '0004-ledger.sql has changed since it was run',
  )
})
