import { Kysely, PostgresDialect } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import { isDatabaseUnavailable } from './database-errors.ts'
import type { Tables } from './tables.ts'

/** Returns a query builder over the pool. The caller ends the pool. */
export function toKysely(pool: Pool): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: new PostgresDialect({
      pool: {
        options: pool.options,
        connect: async () => watchClient(await pool.connect()),
        end: async () => await pool.end(),
      },
    }),
  })
}

/**
 * Returns the client with a `release` that ends the connection if one of its statements failed because the session could
 * not work, for example on a server that accepts no changes. Kysely would give such a connection back to the pool.
 */
function watchClient(client: PoolClient): PoolClient {
  let failure: Error | undefined
  const note = (error: unknown) => {
    if (error instanceof Error && isDatabaseUnavailable(error)) failure ??= error
    throw error
  }
  return new Proxy(client, {
    get(target, name) {
      if (name === 'query') {
        return async (text: string, values: unknown[]) => await target.query(text, values).catch(note)
      }
      if (name === 'release') return (destroy?: boolean) => target.release(failure ?? destroy)
      return Reflect.get(target, name)
    },
  })
}
