import { DatabaseError, type Pool } from 'pg'
import { ConfigError } from '#libs/config/load-config.ts'
import { listMissing, readApplied, SQL_FOLDER, type Applied } from './missing-parts.ts'
import { readSchema } from './read-schema.ts'

/**
 * Throws a ConfigError that names the parts of this version's schema that the database lacks. A database that a newer
 * version has migrated lacks nothing. Needs only `SCHEMA_RIGHTS`.
 */
export async function checkSchema(pool: Pool, folder = SQL_FOLDER): Promise<void> {
  const [schema, applied] = await Promise.all([readSchema(folder), readAppliedOrNone(pool)])
  const missing = listMissing(schema, applied).map(({ name }) => name)
  if (missing.length === 0) return
  throw new ConfigError([
    `MIGRATE is never, and the database lacks ${missing.join(', ')} of this version: run billing with MIGRATE=only first`,
  ])
}

/** Returns the parts that were run. Returns no parts if the database is empty: it has no list of parts then. */
async function readAppliedOrNone(pool: Pool): Promise<ReadonlyMap<string, Applied>> {
  try {
    return await readApplied(pool)
  } catch (error) {
    if (error instanceof DatabaseError && error.code === '42P01') return new Map()
    throw error
  }
}
