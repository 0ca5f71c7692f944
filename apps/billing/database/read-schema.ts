import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { normalizeSql } from './normalize-sql.ts'

/** A file of `tables/` begins with its number in the order: `0003-reservations.sql`. */
const TABLES_NAME = /^(\d{4})-[a-z0-9-]+\.sql$/

export type SqlFile = { readonly name: string; readonly text: string }

/**
 * A part of the schema: a file of `tables/`, the file of indexes, or all functions with the roles. A part is run and
 * recorded as a whole. Comments do not count in its hash.
 */
export type SchemaPart = {
  readonly kind: 'tables' | 'indexes' | 'functions'
  readonly name: string
  readonly sha256: string
  readonly files: readonly SqlFile[]
}

/** `version` is raised with each change of the folder. `parts` are in the order in which they are run. */
export type Schema = { readonly version: number; readonly parts: readonly SchemaPart[] }

/** Reads a folder of the form that `sql/README.md` describes. */
export async function readSchema(folder: URL): Promise<Schema> {
  const [version, tables, functions, roles, indexes] = await Promise.all([
    readFile(new URL('version.txt', folder), 'utf8'),
    readFiles(new URL('tables/', folder)),
    readFiles(new URL('functions/', folder)),
    readSql(folder, 'roles.sql'),
    readSql(folder, 'indexes.sql'),
  ])
  if (!/^[1-9]\d*\s*$/.test(version)) throw new Error('version.txt must be a whole number above 0')
  const numbers = tables.map(({ name }) => {
    const number = TABLES_NAME.exec(name)?.[1]
    if (number === undefined) throw new Error(`tables/${name} must have a name like 0001-accounts.sql`)
    return number
  })
  if (new Set(numbers).size !== numbers.length) throw new Error('two files of tables/ have the same number')
  return {
    version: Number(version),
    parts: [
      ...tables.map((file) => toPart('tables', file.name, [file])),
      toPart('indexes', indexes.name, [indexes]),
      // Roles come last, in one transaction with the functions: a function and its caller's rights change together.
      toPart('functions', 'functions and roles', [...functions, roles]),
    ],
  }
}

async function readFiles(folder: URL): Promise<SqlFile[]> {
  const names = (await readdir(folder)).sort()
  return await Promise.all(names.map((name) => readSql(folder, name)))
}

async function readSql(folder: URL, name: string): Promise<SqlFile> {
  return { name, text: await readFile(new URL(name, folder), 'utf8') }
}

function toPart(kind: SchemaPart['kind'], name: string, files: readonly SqlFile[]): SchemaPart {
  const hash = createHash('sha256')
  // A part whose comments alone have changed keeps its hash.
  for (const { text } of files) hash.update(normalizeSql(text))
  return { kind, name, sha256: hash.digest('hex'), files }
}
