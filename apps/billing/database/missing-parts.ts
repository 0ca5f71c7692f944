import type { ClientBase, Pool } from 'pg'
import { ConfigError } from '#libs/config/load-config.ts'
import type { Schema, SchemaPart } from './read-schema.ts'

/** The folder of this version's schema. */
export const SQL_FOLDER = new URL('../sql/', import.meta.url)

/** A part of the schema as it was last run, and the schema version of the code that ran the part. */
export type Applied = { readonly name: string; readonly sha256: string; readonly version: number }

/** The error for a database that a version between two releases has made; `how` says how it differs. */
export const createForeignError = (how: string): ConfigError =>
  new ConfigError([
    `the database was made by an earlier checkout of Millrace and cannot be upgraded (${how}): start with an empty one (npm start: set MILLRACE_HOME to a new folder, or remove the old one), or run the checkout that made it`,
  ])

/** Returns the parts that were run, by name. Their list is the table `schema_parts`, which `migrate` makes. */
export async function readApplied(db: Pool | ClientBase): Promise<ReadonlyMap<string, Applied>> {
  const { rows } = await db.query<Applied>('select name, sha256, version from schema_parts')
  return new Map(rows.map((row) => [row.name, row]))
}

/**
 * Returns the parts that the database lacks, in the order in which they are run. If a newer version has migrated the
 * database, indexes, functions and grants do not count as missing: the newer version's indexes, functions and grants
 * serve this version too. Throws a ConfigError when a file of `sql/tables/` has changed since it was run.
 */
export function listMissing(schema: Schema, applied: ReadonlyMap<string, Applied>): SchemaPart[] {
  const parts = schema.parts.filter(({ name, sha256 }) => applied.get(name)?.sha256 !== sha256)
  for (const { kind, name } of parts) {
    if (kind === 'tables' && applied.has(name)) {
      throw createForeignError(`${name} has changed since it was run`)
    }
  }
  const isNewer = [...applied.values()].some(({ version }) => version > schema.version)
  return isNewer ? parts.filter(({ kind }) => kind === 'tables') : parts
}
