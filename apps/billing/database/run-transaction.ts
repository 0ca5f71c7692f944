import type { Kysely } from 'kysely'
import { isConflict, isReadOnly } from './database-errors.ts'
import type { Tables } from './tables.ts'

const MAX_TRIES = 3

/**
 * Runs `run` in a transaction. If the transaction conflicts with another one, `run` runs again in a new transaction, at
 * most `MAX_TRIES` times in all. If the session of the transaction may not write, `run` runs once more on a new
 * connection, because the database may accept changes by then.
 */
export async function runTransaction<Result>(
  db: Kysely<Tables>,
  run: (transaction: Kysely<Tables>) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction().execute(run)
    } catch (error) {
      const mayRepeat = isConflict(error) ? attempt < MAX_TRIES : isReadOnly(error) && attempt === 1
      if (!mayRepeat) throw error
    }
  }
}
