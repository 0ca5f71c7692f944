import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readSchema } from '#apps/billing/database/read-schema.ts'

/**
 * The version and the hash of the files of `apps/billing/sql`. When the files change, raise `version.txt` and put both
 * new values here.
 */
const CURRENT = { version: 17, sha256: 'aec6725f9d9df076222cac519bbafdb264c91be57d7b25419341e8138f8c0b3b' }

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-schema-'))
  mkdirSync(join(folder, 'tables'))
  mkdirSync(join(folder, 'functions'))
  for (const name of ['version.txt', 'roles.sql', 'indexes.sql']) write(name, '1')
})
afterEach(() => rmSync(folder, { recursive: true }))

const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
const read = () => readSchema(pathToFileURL(`${folder}/`))

test('each change of the SQL comes with a higher version, which keeps older replicas from undoing it', async () => {
  const { version, parts } = await readSchema(pathToFileURL('apps/billing/sql/'))
  const sha256 = createHash('sha256')
    .update(parts.map((part) => part.sha256).join())
    .digest('hex')
  expect({ version, sha256 }).toEqual(CURRENT)
})

test('a file of functions/ has one function, of its name, and states what it returns', async () => {
  const { parts } = await readSchema(pathToFileURL('apps/billing/sql/'))
  const files = parts.flatMap(({ kind, files }) => (kind === 'functions' ? files : []))
  const functions = files.filter(({ name }) => name !== 'roles.sql')
  expect(functions.length).toBeGreaterThan(15)
  for (const { name, text } of functions) {
    const created = [...text.matchAll(/^create .*function (\w+)\(/gm)].map(([, created]) => `${created}.sql`)
    expect(created).toEqual([name])
    expect(text).toMatch(/^-- Out: /m)
  }
})

test('a part with comments and line breaks of other words has the same hash, and one with other SQL has not', async () => {
  const hashOf = async (text: string) => {
    write('tables/0001-a.sql', text)
    return (await read()).parts[0]?.sha256
  }
  const first = await hashOf("-- Accounts.\ncreate table a (\n  id int -- number\n  default '-- none'\n);\n")
  expect(await hashOf("create table a ( id int default '-- none' );")).toBe(first)
  expect(await hashOf("create table a ( id int default '-- some' );")).not.toBe(first)
})

test('tables come in the order of their numbers, then indexes, then functions with roles', async () => {
  write('tables/0010-b.sql', 'b')
  write('tables/0002-a.sql', 'a')
  write('functions/f.sql', 'f')
  const { parts } = await read()
  expect(parts.map(({ kind, files }) => [kind, ...files.map(({ name }) => name)])).toEqual([
    ['tables', '0002-a.sql'],
    ['tables', '0010-b.sql'],
    ['indexes', 'indexes.sql'],
    ['functions', 'f.sql', 'roles.sql'],
  ])
})

test.each([
  ['tables/accounts.sql', '', 'tables/accounts.sql must have a name like 0001-accounts.sql'],
  ['tables/0001-b.sql', '', 'two files of tables/ have the same number'],
  ['version.txt', '0', 'version.txt must be a whole number above 0'],
])('%s with "%s" is refused', async (name, text, reason) => {
  write('tables/0001-a.sql', '')
  write(name, text)
  await expect(read()).rejects.toThrow(reason)
})
