/**
 * Maps the period of a spend limit, as the admin interface and the database name it, to the public name of the limit's
 * reset. Null: the limit is never reset.
 */
export const RESETS = { day: 'daily', week: 'weekly', month: 'monthly', total: null } as const

const PERIODS = { daily: 'day', weekly: 'week', monthly: 'month' } as const

/** Returns the period of a spend limit that begins anew at `reset`. */
export function toPeriod(reset: keyof typeof PERIODS | null): keyof typeof RESETS {
  return reset === null ? 'total' : PERIODS[reset]
}
