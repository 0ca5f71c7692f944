import type { Pool } from 'pg'

/** The most hours with usage that one call of `roll_usage` sums up. */
const HOURS_OF_CALL = 24

/**
 * Sums up the usage of the closed hours, in short transactions. Returns early if another replica does the same at this
 * time: that replica then sums up the rest.
 */
export async function rollHours(pool: Pool, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // The time is the database's, as in the trigger for late rows.
    const { rows } = await pool.query<{ hours: number }>('select roll_usage(at => now()) as hours')
    if ((rows[0]?.hours ?? 0) < HOURS_OF_CALL) return
  }
}
