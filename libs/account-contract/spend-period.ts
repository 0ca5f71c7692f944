/**
 * The public name of when a spend limit begins anew, by the name of its period in the admin interface and the database.
 * Null: it never does.
 */
export const RESETS = { day: 'daily', week: 'weekly', month: 'monthly', total: null } as const

const PERIODS = { daily: 'day', weekly: 'week', monthly: 'month' } as const

/** Returns the period of a spend limit that begins anew at `reset`. */
export function toPeriod(reset: keyof typeof PERIODS | null): keyof typeof RESETS {
  return reset === null ? 'total' : PERIODS[reset]
}
