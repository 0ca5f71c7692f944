import type { ClientBase, Pool } from 'pg'
import type { Schema, SchemaPart } from './read-schema.ts'

/** The folder of this version's schema. */
export const SQL_FOLDER = new URL('../sql/', import.meta.url)

/** A part of the schema as it was last run, and the schema version of the code that ran the part. */
export type Applied = { readonly name: string; readonly sha256: string; readonly version: number }

/** Returns the parts that were run, by name. Their list is the table `schema_parts`, which `migrate` makes. */
export async function readApplied(db: Pool | ClientBase): Promise<ReadonlyMap<string, Applied>> {
  const { rows } = await db.query<Applied>('select name, sha256, version from schema_parts')
  return new Map(rows.map((row) => [row.name, row]))
}

/**
 * Returns the parts that the database lacks, in the order in which they are run. If a newer version has migrated the
 * database, indexes, functions and grants do not count as missing: the newer version's indexes, functions and grants
 * serve this version too. Throws an Error when a file of `sql/tables/` has changed since it was run.
 */
export function listMissing(schema: Schema, applied: ReadonlyMap<string, Applied>): SchemaPart[] {
  const parts = schema.parts.filter(({ name, sha256 }) => applied.get(name)?.sha256 !== sha256)
  for (const { kind, name } of parts) {
    if (kind === 'tables' && applied.has(name)) {
      throw new Error(`${name} has changed since it was run on this database`)
    }
  }
  const isNewer = [...applied.values()].some(({ version }) => version > schema.version)
  return isNewer ? parts.filter(({ kind }) => kind === 'tables') : parts
}
