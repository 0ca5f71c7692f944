import type { Pool } from 'pg'

/** So many hours with usage are summed up by one call of the function. */
const HOURS_OF_CALL = 24

/**
 * Sums up the usage of the hours that are closed by now, in short transactions. Another replica that does it at the same
 * time takes the rest.
 */
export async function rollHours(pool: Pool, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // The database's clock: the trigger of late rows has it as well.
    const { rows } = await pool.query<{ hours: number }>('select roll_usage(at => now()) as hours')
    if ((rows[0]?.hours ?? 0) < HOURS_OF_CALL) return
  }
}
