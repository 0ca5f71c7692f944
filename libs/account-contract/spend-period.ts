/**
 * The public name of a spend limit's reset, by the name of its period in the admin interface and the database. Null:
 * the limit is never reset.
 */
export const RESETS = { day: 'daily', week: 'weekly', month: 'monthly', total: null } as const

const PERIODS = { daily: 'day', weekly: 'week', monthly: 'month' } as const

/** Returns the period of a spend limit that begins anew at `reset`. */
export function toPeriod(reset: keyof typeof PERIODS | null): keyof typeof RESETS {
  return reset === null ? 'total' : PERIODS[reset]
}
