import type { Kysely } from 'kysely'
import { isConflict } from './database-errors.ts'
import type { Tables } from './tables.ts'

const MAX_TRIES = 3

/**
 * Runs `run` in a transaction. If the transaction conflicts with another one, `run` runs again in a new transaction.
 */
export async function runTransaction<Result>(
  db: Kysely<Tables>,
  run: (transaction: Kysely<Tables>) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction().execute(run)
    } catch (error) {
      if (attempt === MAX_TRIES || !isConflict(error)) throw error
    }
  }
}
